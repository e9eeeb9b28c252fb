// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/redact"
)

// ClientOptions configure a [Client].
type ClientOptions struct {
	// Endpoints are the base URLs of controllers, such as http://controller:8090.
	// The client stays with one as long as it answers.
	Endpoints []string
	// Token is the admin token.
	Token string
	// Address is the URL at which clients reach this worker.
	Address string
	Version string // of the program
	// Load returns the worker's load; nil: the worker is ready and reports no load. It must
	// not block.
	Load func() Load
	// OnRevision is called with the revision of the first answer, and of each answer with
	// another revision than the one before: configurations or tokens have changed. It
	// must not block. nil: nothing is called.
	OnRevision func(revision int64)

	// Timeout bounds a request to one controller; 0 means 5 s.
	Timeout time.Duration
	// Transport makes the requests; nil means [http.DefaultTransport].
	Transport http.RoundTripper
	Logger    *slog.Logger // nil means [slog.Default]
}

// Validate reports everything that is wrong with the options.
func (o ClientOptions) Validate() error {
	var faults []error
	if len(o.Endpoints) == 0 {
		faults = append(faults, errors.New("controller: there is no endpoint"))
	}
	for _, e := range o.Endpoints {
		if u, err := url.Parse(e); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			faults = append(faults, fmt.Errorf("controller: the endpoint %q must be a URL such as http://controller:8090, without a user or query", redactURL(e)))
		}
	}
	if o.Token == "" || strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		faults = append(faults, errors.New("controller: the token is empty, or has characters other than printable ASCII"))
	}
	if err := (Registration{Instance: "x", Address: o.Address, Version: o.Version}).Validate(); err != nil {
		faults = append(faults, fmt.Errorf("controller: %w", err))
	}
	if o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("controller: Timeout is %v; it must not be negative", o.Timeout))
	}
	return errors.Join(faults...)
}

func (o ClientOptions) withDefaults() ClientOptions {
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Load == nil {
		o.Load = func() Load { return Load{Ready: true} }
	}
	return o
}

// redactURL leaves out what may be a password.
func redactURL(text string) string {
	if u, err := url.Parse(text); err == nil {
		return u.Redacted()
	}
	return "[not a URL]"
}

// Format implements [fmt.Formatter]: options print without their token.
func (o ClientOptions) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, o.withoutSecret())
}

// LogValue implements [slog.LogValuer]: options are logged without their token.
func (o ClientOptions) LogValue() slog.Value { return slog.AnyValue(o.withoutSecret()) }

// withoutSecret returns the options without secrets and functions, as a type without methods.
func (o ClientOptions) withoutSecret() any {
	type options = ClientOptions
	type ClientOptions options // the name that %#v prints
	o.Token = redact.Secret(o.Token)
	o.Load, o.OnRevision, o.Transport, o.Logger = nil, nil, nil, nil
	return ClientOptions(o)
}

// Format implements [fmt.Formatter]: a client prints without its token and lease.
func (c *Client) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, c.withoutSecret())
}

// LogValue implements [slog.LogValuer]: a client is logged without its token and lease.
func (c *Client) LogValue() slog.Value { return slog.AnyValue(c.withoutSecret()) }

// withoutSecret returns the client's options without secrets.
func (c *Client) withoutSecret() any { return c.options.withoutSecret() }
