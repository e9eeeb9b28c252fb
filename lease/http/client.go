// SPDX-License-Identifier: Apache-2.0

package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/redact"
	"github.com/kazahana-db/kazahana/lease"
)

// maxAnswer bounds the body of an answer in bytes.
const maxAnswer = 2 << 20

// Client leases from a server. It makes one request for each call: an
// [idgen.Client] repeats, with the same request key.
type Client struct {
	base      *url.URL
	authorize func(http.Header) // sets the token, which as a field would be printed with the client
	timeout   time.Duration
	http      http.Client
}

var (
	_ idgen.LeaseProvider = (*Client)(nil)
	_ lister              = (*Client)(nil)
)

// NewClient returns a client. It returns what [ClientOptions.Validate] finds,
// and does not talk to the server.
func NewClient(options ClientOptions) (*Client, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	base, err := url.Parse(options.URL)
	if err != nil {
		return nil, fmt.Errorf("lease/http: %w", err)
	}
	if options.Timeout == 0 {
		options.Timeout = DefaultTimeout
	}
	return &Client{base: base, authorize: bearerHeader(options.Token), timeout: options.Timeout, http: http.Client{
		Transport:     options.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// bearerHeader returns a function that sets the header of a token, if there is one.
func bearerHeader(token string) func(http.Header) {
	return func(h http.Header) {
		if token != "" {
			h.Set("Authorization", "Bearer "+token)
		}
	}
}

// Acquire implements [idgen.LeaseProvider]. Errors are those of the server's
// provider, a [*StatusError], or those of the transport.
func (c *Client) Acquire(ctx context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	var answer acquireAnswer
	if err := c.send(ctx, http.MethodPost, c.base.JoinPath("lease"), req, &answer); err != nil {
		return nil, err
	}
	if len(answer.Leases) == 0 {
		return nil, errors.New("lease/http: the server granted nothing, and no error")
	}
	for _, l := range answer.Leases {
		if err := l.Validate(); err != nil {
			return nil, fmt.Errorf("lease/http: the server granted a lease that is not valid: %w", err)
		}
	}
	return answer.Leases, nil
}

// Release implements [idgen.LeaseProvider]. A server that is written to the letter
// of the specification refuses the signature of the additions; the client then sends
// the specification's own release. Errors are as for Acquire.
func (c *Client) Release(ctx context.Context, req idgen.ReleaseRequest) error {
	err := c.sendRelease(ctx, req)
	if req.LiteralSignature == "" || !isForeignRefusal(err) {
		return err
	}
	if again := c.sendRelease(ctx, req.Literal()); again != nil {
		return fmt.Errorf("%w; the specification's own release: %w", err, again)
	}
	return nil
}

// sendRelease sends one release: a literal one has the body of the specification,
// and the service if that is known.
func (c *Client) sendRelease(ctx context.Context, req idgen.ReleaseRequest) error {
	var body any = req
	if req.IsLiteral() {
		body = literalRelease{ServiceID: req.ServiceID, Signature: req.Signature, Timestamp: req.Timestamp}
	}
	return c.send(ctx, http.MethodDelete, c.base.JoinPath("lease", strconv.FormatInt(req.ID, 10)), body, nil)
}

// literalRelease is the body of the specification's release, section 7.1. The
// service is added.
type literalRelease struct {
	ServiceID string `json:"serviceId,omitempty"`
	Signature string `json:"signature"`
	Timestamp int64  `json:"timestamp"`
}

// isForeignRefusal reports whether a server refused a request with a text that is
// not this protocol's. Statuses that a gateway sends, or an overloaded server, say
// nothing about the request.
func isForeignRefusal(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) || status.Code != "" || status.Status < 400 {
		return false
	}
	switch status.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return true
}

// List lists the leases of a service as [lease.Server.List] does, for tokens that may
// list. Errors are as for Acquire, and as of [lease.Server.List] for blocks that cannot
// be read.
func (c *Client) List(ctx context.Context, serviceID string, options lease.ListOptions) (lease.Page, error) {
	where := c.base.JoinPath("leases")
	query := url.Values{"serviceId": {serviceID}, "after": {options.After}, "ended": {strconv.FormatBool(options.Ended)}}
	if options.Limit != 0 {
		query.Set("limit", strconv.Itoa(options.Limit))
	}
	where.RawQuery = query.Encode()
	var answer leasePage
	if err := c.send(ctx, http.MethodGet, where, nil, &answer); err != nil {
		return lease.Page{}, err
	}
	var faults []error
	for _, d := range answer.Damage {
		faults = append(faults, d.toError())
	}
	return answer.Page, errors.Join(faults...)
}

// send makes a request and reads the answer.
func (c *Client) send(ctx context.Context, method string, where *url.URL, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := c.newRequest(ctx, method, where, body)
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("lease/http: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("lease/http: the answer broke off: %w", err)
	}
	if len(text) > maxAnswer {
		return fmt.Errorf("lease/http: the answer has more than %d bytes", maxAnswer)
	}
	return decode(res, text, answer)
}

func (c *Client) newRequest(ctx context.Context, method string, where *url.URL, body any) (*http.Request, error) {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("lease/http: %w", err)
		}
		reader = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, where.String(), reader)
	if err != nil {
		return nil, fmt.Errorf("lease/http: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	c.authorize(req.Header)
	return req, nil
}

// decode makes an answer into a value, or an error. Each status of success counts,
// as in the specification.
func decode(res *http.Response, text []byte, answer any) error {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	ok := res.StatusCode >= 200 && res.StatusCode < 300
	switch {
	case ok && answer == nil:
		return nil
	case ok && media == "application/json":
		if err := json.Unmarshal(text, answer); err != nil {
			return fmt.Errorf("lease/http: the answer: %w", err)
		}
		return nil
	case media == "application/problem+json":
		var p problem
		if err := json.Unmarshal(text, &p); err == nil && p.Code != "" {
			p.Status = res.StatusCode
			return p.toError()
		}
	}
	return &StatusError{Status: res.StatusCode, Detail: fmt.Sprintf("the answer, of type %q, is not that of a lease server: %.200q", media, text)}
}

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

// Services lists services as [lease.Server.Services] does, for tokens that may list: those of
// the server's services that the token may lease for. Errors are as for Acquire.
func (c *Client) Services(ctx context.Context, after string, limit int) ([]string, error) {
	where := c.base.JoinPath("services")
	where.RawQuery = url.Values{"after": {after}, "limit": {strconv.Itoa(limit)}}.Encode()
	var answer servicesAnswer
	err := c.send(ctx, http.MethodGet, where, nil, &answer)
	return answer.Services, err
}

// servicesAnswer is the answer to GET /services.
type servicesAnswer struct {
	Services []string `json:"services"`
	Next     string   `json:"next,omitempty"` // continues the list as after; "" if this is its end
}

// fullPage is the most services that a lister returns at once.
const fullPage = 1000

// StatusError is an answer of the server that does not stand for an error of package lease.
type StatusError struct {
	Status int    // the HTTP status
	Code   string // of the problem; empty if the answer was none
	Detail string
}

// Error names status, code and detail.
func (e *StatusError) Error() string {
	return fmt.Sprintf("lease/http: %d %s: %s", e.Status, e.Code, e.Detail)
}

// newStatusError returns an error of the protocol.
func newStatusError(status int, code, format string, args ...any) error {
	return &StatusError{Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}
