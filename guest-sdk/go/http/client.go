package http

import "aerostat.dev/sdk/types"

// Client makes requests to one endpoint.
type Client struct {
	// Endpoint is its name in the operator's config.
	Endpoint string
	// Words leads to the cloud's own words in an error's body, by names and by places in lists: "errors", "0", "reason". Without it
	// they are looked for where most clouds have them.
	Words []string
}

// Get reads.
func (it Client) Get(path ...string) *Call { return it.New(types.MethodGet, path...) }

// Post makes something whose name the cloud chooses. It must not be sent twice: package backend sees to that.
func (it Client) Post(path ...string) *Call { return it.New(types.MethodPost, path...) }

// Put writes under a name of ours.
func (it Client) Put(path ...string) *Call { return it.New(types.MethodPut, path...) }

// Patch changes a part.
func (it Client) Patch(path ...string) *Call { return it.New(types.MethodPatch, path...) }

// Delete takes away.
func (it Client) Delete(path ...string) *Call { return it.New(types.MethodDelete, path...) }

// New is a request with this method.
func (it Client) New(method types.Method, path ...string) *Call {
	return &Call{request: Request{Endpoint: it.Endpoint, Method: method, Path: path}, words: it.Words}
}

// Get reads.
func Get(endpoint string, path ...string) *Call { return Client{Endpoint: endpoint}.Get(path...) }

// Post makes something whose name the cloud chooses. It must not be sent twice: package backend sees to that.
func Post(endpoint string, path ...string) *Call { return Client{Endpoint: endpoint}.Post(path...) }

// Put writes under a name of ours.
func Put(endpoint string, path ...string) *Call { return Client{Endpoint: endpoint}.Put(path...) }

// Patch changes a part.
func Patch(endpoint string, path ...string) *Call { return Client{Endpoint: endpoint}.Patch(path...) }

// Delete takes away.
func Delete(endpoint string, path ...string) *Call { return Client{Endpoint: endpoint}.Delete(path...) }

// New is a request with this method.
func New(method types.Method, endpoint string, path ...string) *Call {
	return Client{Endpoint: endpoint}.New(method, path...)
}
