package provider

import "aerostat.dev/sdk/types"

// Allow is what these requests do, as their method says: GET and HEAD read, DELETE takes whole objects away, and all others count as what
// makes whole objects. AllowAs says it where it is less or more.
func Allow(method types.Method, paths []string, actions ...string) Permission {
	effect := EffectWrite
	switch method {
	case types.MethodGet, types.MethodHead:
		effect = EffectRead
	case types.MethodDelete:
		effect = EffectDelete
	}
	return AllowAs(effect, method, paths, actions...)
}

// AllowAs is the same with another effect.
func AllowAs(effect Effect, method types.Method, paths []string, actions ...string) Permission {
	return Permission{Methods: []types.Method{method}, Paths: paths, Effect: effect, Actions: actions}
}
