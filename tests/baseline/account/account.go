// Package account says which account of a cloud is meant, and how it is reached.
package account

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// Account is what the flags say, whichever the cloud.
type Account struct {
	// BaseURL is where the cloud's API is. Empty: where the vendor has it.
	BaseURL string
	// Region is where load balancers are made, if the cloud has some.
	Region string
	// Network is the id of the private network that has the routes. 0: there are none.
	Network int64

	caFile    string
	tokenFile string
}

func (a *Account) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.BaseURL, "base-url", "", "Where the cloud's API is. Empty: where the vendor has it.")
	flags.StringVar(&a.caFile, "ca-file", "", "The authority that signed its certificate. Empty: those of the system.")
	flags.StringVar(&a.tokenFile, "token-file", "", "A file with the token.")
	flags.StringVar(&a.Region, "region", "fra1", "Where load balancers are made.")
	flags.Int64Var(&a.Network, "network", 0, "The id of the private network that has the routes. 0: there are none.")
}

// Token reads the token.
func (a *Account) Token() (string, error) {
	token, err := os.ReadFile(a.tokenFile)
	if err != nil {
		return "", fmt.Errorf("the token cannot be read: %w", err)
	}
	return strings.TrimSpace(string(token)), nil
}

// Transport trusts the authority that the flags name.
func (a *Account) Transport() (http.RoundTripper, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if a.caFile == "" {
		return transport, nil
	}
	authorities := x509.NewCertPool()
	certificates, err := os.ReadFile(a.caFile)
	if err != nil {
		return nil, fmt.Errorf("the authority cannot be read: %w", err)
	}
	if !authorities.AppendCertsFromPEM(certificates) {
		return nil, errors.New("the authority's file has no certificate")
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
	return transport, nil
}
