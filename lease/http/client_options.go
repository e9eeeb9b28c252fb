// SPDX-License-Identifier: Apache-2.0

package http

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/redact"
)

// ClientOptions configure a [Client].
type ClientOptions struct {
	// URL is where the server is, with a path if it has one:
	// "https://id.example.com".
	URL string
	// Token is sent as a bearer token; empty sends none.
	Token string
	// PlainHTTP permits to send the token, and to receive the secrets of leases,
	// without TLS over a network: where the network encrypts. It is not needed
	// for the loopback interface.
	PlainHTTP bool
	// Timeout bounds each call; 0 means 10 s.
	Timeout time.Duration
	// Transport makes the requests; nil means [http.DefaultTransport].
	Transport http.RoundTripper
}

// Validate reports everything that is wrong with the options.
func (o ClientOptions) Validate() error {
	var faults []error
	base, err := url.Parse(o.URL)
	switch {
	case err != nil: // the cause may quote a password
		faults = append(faults, errors.New("lease/http: the URL cannot be parsed; it must be like https://host:port/path"))
	case base.Scheme != "https" && base.Scheme != "http" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" || base.User != nil:
		faults = append(faults, fmt.Errorf("lease/http: the URL is %q; it must be like https://host:port/path", base.Redacted()))
	case !o.PlainHTTP && access.InClear(base):
		faults = append(faults, fmt.Errorf("lease/http: %q would send secrets in the clear; use https, or set PlainHTTP", o.URL))
	}
	if o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("lease/http: the timeout is %v; it must not be negative", o.Timeout))
	}
	return errors.Join(faults...)
}

// Format implements [fmt.Formatter]: options print like any struct, except that
// the token is left out.
func (o ClientOptions) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, o.withoutSecret())
}

// LogValue implements [slog.LogValuer]: options are logged without the token.
func (o ClientOptions) LogValue() slog.Value { return slog.AnyValue(o.withoutSecret()) }

// withoutSecret returns the options without the token, as a type without methods.
func (o ClientOptions) withoutSecret() any {
	type options = ClientOptions
	type ClientOptions options // the name that %#v prints
	o.Token = redact.Secret(o.Token)
	if u, err := url.Parse(o.URL); err != nil {
		o.URL = redact.Text // there may be a password in it
	} else if u.User != nil {
		o.URL = u.Redacted()
	}
	return ClientOptions(o)
}
