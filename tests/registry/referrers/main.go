// Command referrers is the registry of github.com/google/go-containerregistry, in memory, with its referrers API. It asks for
// no login. Its arguments are an address to listen at, a certificate and a key.
package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: referrers ADDRESS CERTIFICATE KEY")
		os.Exit(2)
	}
	handler := registry.New(registry.WithReferrersSupport(true))
	fmt.Fprintln(os.Stderr, http.ListenAndServeTLS(os.Args[1], os.Args[2], os.Args[3], handler))
	os.Exit(1)
}
