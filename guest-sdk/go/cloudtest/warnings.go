package cloudtest

import (
	"fmt"
	"strings"

	"aerostat.dev/sdk/provider"
)

// Words in a setting's or a header's name that stand for what only the host may know.
var secrets = []string{"token", "password", "passwd", "secret", "apikey", "api-key", "privatekey", "authorization"}

// Warnings are a sentence for each mistake in a description that is cheap to see, each with the next step: mistakes that the host
// refuses late, or not at all. A test of a provider holds that there are none.
func Warnings(description provider.Description) []string {
	var warnings []string
	warn := func(isWrong bool, format string, words ...any) {
		if isWrong {
			warnings = append(warnings, fmt.Sprintf(format, words...))
		}
	}
	notInName := func(it rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", it) }
	name := description.Name
	warn(name == "" || strings.ContainsFunc(name, notInName), "the name %q becomes part of labels: lower-case letters, digits and - alone", name)
	warn(len(description.ProviderIDPrefixes) == 0, "no provider id prefix: no node is asked about. Add one to ProviderIDPrefixes")
	for _, prefix := range description.ProviderIDPrefixes {
		warn(prefix != "" && !strings.HasSuffix(prefix, "://"), "the prefix %q does not end with ://", prefix)
	}
	warn(description.ListPageSize == 0, "ListPageSize is 0: no machine is listed")
	warn(description.GetBatchSize == 0, "GetBatchSize is 0: no node is asked about")
	seen := map[string]bool{}
	isSecond := func(kind, name string) bool {
		key := kind + " " + name
		defer func() { seen[key] = true }()
		return seen[key]
	}
	for _, endpoint := range description.Endpoints {
		name := endpoint.Name
		warn(isSecond("endpoint", name), "endpoint %s is there twice: give each a name of its own", name)
		warn(len(endpoint.Allow) == 0, "endpoint %s allows nothing: no request to it leaves. Name what it needs in Allow", name)
		warn(!strings.HasPrefix(endpoint.ExampleBaseURL, "https://"), "endpoint %s: the public cloud's URL does not begin with https://", name)
		for _, header := range endpoint.Headers {
			warn(isSecret(header), "endpoint %s: the header %s holds a credential, which the host sets: leave it out", name, header)
		}
		for _, permission := range endpoint.Allow {
			for _, path := range permission.Paths {
				warn(permission.Effect != provider.EffectRead && strings.Contains(path, "**"),
					"endpoint %s: %s allows writes to everything under it: name the paths, with * for a segment", name, path)
			}
		}
	}
	for _, setting := range description.Settings {
		warn(isSecret(setting.Name), "setting %s sounds like a secret: credentials are the host's, take it out", setting.Name)
		warn(setting.Doc == "", "setting %s has no sentence that says what it does", setting.Name)
		warn(isSecond("setting", setting.Name), "setting %s is there twice", setting.Name)
	}
	for _, annotation := range description.Annotations {
		key := annotation.Key
		warn(!strings.Contains(key, "/"), "annotation %s has no domain: anybody's would be read. Write example.com/%s", key, key)
		warn(annotation.Doc == "", "annotation %s has no sentence that says what it does", key)
		warn(isSecond("annotation", key), "annotation %s is there twice", key)
	}
	return warnings
}

func isSecret(name string) bool {
	for _, word := range secrets {
		if strings.Contains(strings.ToLower(name), word) {
			return true
		}
	}
	return false
}
