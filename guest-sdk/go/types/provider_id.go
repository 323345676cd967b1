package types

import "strings"

// SplitID is what follows the prefix of a provider id, never empty.
func SplitID(prefix, providerID string) (string, error) {
	id, found := strings.CutPrefix(providerID, prefix)
	switch {
	case !found:
		return "", Invalidf("provider id %q does not begin with %s", providerID, prefix)
	case id == "":
		return "", Invalidf("provider id %q has nothing behind %s", providerID, prefix)
	}
	return id, nil
}
