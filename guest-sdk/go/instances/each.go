package instances

import "aerostat.dev/sdk/types"

// Each answers Get by one question for each node. (nil, nil) is the promise that the machine does not exist: its node is deleted.
func Each(nodes []types.Node, get func(types.Node) (*Instance, error)) []types.Result[*Instance] {
	answers := make([]types.Result[*Instance], len(nodes))
	for i, node := range nodes {
		answers[i].Value, answers[i].Err = get(node)
	}
	return answers
}

// CanonicalAsSpelled answers CanonicalIDs for a cloud whose ids have one spelling.
func CanonicalAsSpelled(providerIDs []string) []types.Result[string] {
	answers := make([]types.Result[string], len(providerIDs))
	for i, id := range providerIDs {
		answers[i].Value = id
	}
	return answers
}
