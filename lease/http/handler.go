// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/redact"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
)

// lister lists leases and services, as [lease.Server] does.
type lister interface {
	List(ctx context.Context, serviceID string, options lease.ListOptions) (lease.Page, error)
	// Services returns the next services with IDs greater than after, at most limit of them; 0 leaves the
	// number to the lister. A lister that does not know them returns [errors.ErrUnsupported].
	Services(ctx context.Context, after string, limit int) ([]string, error)
}

// handler serves a provider.
type handler struct {
	provider idgen.LeaseProvider
	lister   lister // the provider; nil if it lists nothing
	options  HandlerOptions
	accounts []*account
}

// NewHandler returns a handler that serves provider; see the package's documentation. It
// answers GET /leases and GET /services if the provider has the methods List and Services
// of [lease.Server], as a [Client] and what leaseotel makes of either do. The handler is
// safe for concurrent use. The error is what [HandlerOptions.Validate] finds.
func NewHandler(provider idgen.LeaseProvider, options HandlerOptions) (http.Handler, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	if options.MaxBody == 0 {
		options.MaxBody = DefaultMaxBody
	}
	if options.Timeout == 0 {
		options.Timeout = DefaultTimeout
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	h := &handler{provider: provider, options: options}
	h.lister, _ = provider.(lister)
	for _, t := range options.Tokens {
		h.accounts = append(h.accounts, newAccount(t))
	}
	h.options.Tokens = nil // so that they are not printed with the handler
	return h, nil
}

// NewServer returns a server of handler with bounds on the time and the headers
// of a request. Set its address, and TLS.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	ctx, cancel := context.WithTimeout(r.Context(), h.options.Timeout)
	defer cancel()
	answer, err := h.route(w, r.WithContext(ctx))
	if err != nil {
		h.writeProblem(w, r, err)
		return
	}
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	write(w, http.StatusOK, "application/json", answer)
}

// write answers in JSON. It does not matter if the client has gone.
func write(w http.ResponseWriter, status int, contentType string, answer any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// route returns what to answer, nil for nothing.
func (h *handler) route(w http.ResponseWriter, r *http.Request) (any, error) {
	account, err := h.authenticate(r)
	if err != nil {
		return nil, err
	}
	id, release := strings.CutPrefix(r.URL.Path, "/lease/")
	switch {
	case r.URL.Path == "/lease":
		return h.handleAcquire(w, r, account)
	case release && !strings.Contains(id, "/"):
		return nil, h.handleRelease(w, r, account, id)
	case r.URL.Path == "/leases":
		return h.handleList(w, r, account)
	case r.URL.Path == "/services":
		return h.handleServices(w, r, account)
	}
	return nil, newStatusError(http.StatusNotFound, codeNoResource, "there is %q, %q, %q and %q", "/lease", "/lease/{id}", "/leases", "/services")
}

// The defaults of [HandlerOptions].
const (
	DefaultMaxBody = 16 << 10
	DefaultTimeout = 10 * time.Second
)

// HandlerOptions configure what [NewHandler] returns.
type HandlerOptions struct {
	// Tokens permit clients to lease. There must be one, unless Anonymous is set.
	Tokens []Token
	// Anonymous serves clients without a token, within no bounds but the
	// provider's. For a network in which every client may lease. Pages of other
	// sites, in a browser on the server's machine or in that network, may not: see
	// Hosts.
	Anonymous bool
	// Hosts are values of the header Host, host:port, with which requests without a
	// token may come to a loopback address, besides loopback addresses and localhost:
	// those that a proxy on the server's machine sends. Others are refused, since a
	// site could point its name at this machine (DNS rebinding). At other addresses
	// each Host is answered.
	Hosts []string
	// MaxBody bounds the body of a request in bytes; 0 means 16 KiB.
	MaxBody int64
	// Timeout bounds a call of the provider; 0 means 10 s.
	Timeout time.Duration
	// Logger gets the errors that clients see no text of: those of the store. nil
	// discards them.
	Logger *slog.Logger
}

// Validate reports everything that is wrong with the options.
func (o HandlerOptions) Validate() error {
	var faults []error
	if len(o.Tokens) == 0 && !o.Anonymous {
		faults = append(faults, errors.New("lease/http: there is no token, so no client could lease; set Anonymous if every client may"))
	}
	names, owners := map[string]bool{}, map[string]string{}
	for _, t := range o.Tokens {
		faults = append(faults, t.validate())
		if owner, known := owners[t.Secret]; known && t.Secret != "" {
			faults = append(faults, fmt.Errorf("lease/http: the tokens %q and %q have the same secret, so a request could not tell which one it bears", owner, t.Name))
		}
		owners[t.Secret] = t.Name
		if names[t.Name] {
			faults = append(faults, fmt.Errorf("lease/http: two tokens are named %q", t.Name))
		}
		names[t.Name] = true
	}
	if slices.Contains(o.Hosts, "") {
		faults = append(faults, errors.New("lease/http: one of Hosts is empty"))
	}
	if o.MaxBody < 0 || o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("lease/http: MaxBody is %d and Timeout %v; they must not be negative", o.MaxBody, o.Timeout))
	}
	return errors.Join(faults...)
}

// LogValue implements [slog.LogValuer]: options are logged without the secrets of
// the tokens.
func (o HandlerOptions) LogValue() slog.Value {
	type plain HandlerOptions
	o.Tokens = slices.Clone(o.Tokens)
	for i := range o.Tokens {
		o.Tokens[i].Secret = redact.Text
	}
	return slog.AnyValue(plain(o))
}

// authenticate returns the account of the token that the request bears. It compares
// with all tokens, whichever it is.
func (h *handler) authenticate(r *http.Request) (*account, error) {
	header := r.Header.Get("Authorization")
	if header == "" && h.options.Anonymous {
		if err := access.CheckOpen(r, h.options.Hosts); err != nil {
			return nil, newStatusError(http.StatusForbidden, codeForbidden, "%v", err)
		}
		return nil, nil
	}
	scheme, secret, _ := strings.Cut(header, " ")
	hash := sha256.Sum256([]byte(secret))
	var found *account
	for _, a := range h.accounts {
		if subtle.ConstantTimeCompare(hash[:], a.hash[:]) == 1 {
			found = a
		}
	}
	if found == nil || !strings.EqualFold(scheme, "Bearer") {
		return nil, newStatusError(http.StatusUnauthorized, codeUnauthorized, "the request bears no valid token")
	}
	return found, nil
}

// handleServices answers GET /services: those that the token may lease for.
func (h *handler) handleServices(w http.ResponseWriter, r *http.Request, account *account) (any, error) {
	if err := checkMethod(w, r, http.MethodGet, http.MethodHead); err != nil {
		return nil, err
	}
	if h.lister == nil || !account.mayList() {
		return nil, newStatusError(http.StatusForbidden, codeForbidden, "services are not listed here, or not for this token")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: the query: %w", lease.ErrInvalid, err)
	}
	limit := 0
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("%w: the limit is %q", lease.ErrInvalid, text)
		}
	}
	ids, err := account.listServices(r.Context(), h.lister, query.Get("after"), limit)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, newStatusError(http.StatusForbidden, codeForbidden, "the store of this server does not list services")
	}
	if err != nil {
		return nil, err
	}
	answer := servicesAnswer{Services: append([]string{}, ids...)}
	if len(ids) > 0 {
		answer.Next = ids[len(ids)-1]
	}
	return answer, nil
}

// writeProblem answers with an error. The text of those that are not known is for the
// log alone.
func (h *handler) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := h.problem(err)
	late := p.Code == codeTimeout && r.Context().Err() == nil // the client is not gone
	if late || p.Code == codeInternal || p.Code == codeCorrupt || p.Code == codeNewer || p.Code == codeEpoch || p.Code == codeClock {
		h.options.Logger.ErrorContext(r.Context(), "lease/http: a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	p.Title = http.StatusText(p.Status)
	write(w, p.Status, "application/problem+json", p)
}

// problem describes an error.
func (h *handler) problem(err error) problem {
	p := problem{Detail: err.Error()}
	var (
		status     *StatusError
		exhausted  *refusal.ExhaustedError
		quarantine *refusal.QuarantineError
		epoch      *refusal.EpochMismatchError
		corrupt    *refusal.CorruptError
		clock      *refusal.TimeRangeError
		budget     *refusal.BudgetError
	)
	switch {
	case errors.As(err, &status):
		p.Status, p.Code, p.Detail = status.Status, status.Code, status.Detail
	case errors.As(err, &exhausted):
		p.Status, p.Code = http.StatusServiceUnavailable, codeExhausted
		p.ServiceID, p.Throughput = exhausted.ServiceID, exhausted.Throughput
	case errors.As(err, &quarantine):
		p.Status, p.Code = http.StatusServiceUnavailable, codeQuarantine
		p.ServiceID, p.Until = quarantine.ServiceID, &quarantine.Until
	case errors.As(err, &epoch):
		p.Status, p.Code = http.StatusInternalServerError, codeEpoch
		p.ServiceID, p.Stored, p.Configured = epoch.ServiceID, &epoch.Got, &epoch.Want
	case errors.As(err, &corrupt):
		p.Status, p.Code = http.StatusInternalServerError, codeCorrupt
		p.ServiceID, p.Key, p.Cause = corrupt.ServiceID, corrupt.Key, corrupt.Cause.Error()
	case errors.As(err, &clock):
		p.Status, p.Code = http.StatusInternalServerError, codeClock
		p.Time, p.First, p.Last = &clock.Time, &clock.First, &clock.Last
	case errors.As(err, &budget):
		p.Status, p.Code = http.StatusTooManyRequests, codeTooMuch
		p.ServiceID, p.Throughput, p.Leased, p.PerMs = budget.ServiceID, budget.Throughput, budget.Leased, budget.PerMs
	default:
		return h.newProblem(p, err)
	}
	return p
}

// newProblem describes an error that has no data.
func (h *handler) newProblem(p problem, err error) problem {
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			p.Status, p.Code = s.status, s.code
			return p
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		p.Status, p.Code, p.Detail = http.StatusGatewayTimeout, codeTimeout, "the store did not answer in time"
		return p
	}
	p.Status, p.Code, p.Detail = http.StatusInternalServerError, codeInternal, "the store failed; the server's log has more"
	return p
}
