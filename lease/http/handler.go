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
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// The defaults of [HandlerOptions].
const (
	DefaultMaxBody = 16 << 10
	DefaultTimeout = 10 * time.Second
)

// Lister lists leases, as [lease.Server] does.
type Lister interface {
	List(ctx context.Context, serviceID string, options lease.ListOptions) (lease.Page, error)
}

// HandlerOptions configure a [Handler].
type HandlerOptions struct {
	// Tokens are who may lease. There must be one, unless Anonymous is set.
	Tokens []Token
	// Anonymous serves everybody who presents no token, without bounds but the
	// provider's. For a network in which everybody may.
	Anonymous bool
	// Lister answers GET /leases, and GET /services if it is an [Enumerator]; nil
	// means the provider, if it is one.
	Lister Lister
	// MaxBody bounds the body of a request in bytes; 0 means 16 KiB.
	MaxBody int64
	// Timeout bounds a call of the provider; 0 means 10 s.
	Timeout time.Duration
	// Logger gets the errors whose text clients are not told: those of the
	// store. nil discards them.
	Logger *slog.Logger
}

// Validate reports everything that is wrong with the options.
func (o HandlerOptions) Validate() error {
	var faults []error
	if len(o.Tokens) == 0 && !o.Anonymous {
		faults = append(faults, errors.New("lease/http: there is no token, so nobody could lease; set Anonymous if everybody may"))
	}
	names := map[string]bool{}
	for _, t := range o.Tokens {
		faults = append(faults, t.validate())
		if names[t.Name] {
			faults = append(faults, fmt.Errorf("lease/http: two tokens are named %q", t.Name))
		}
		names[t.Name] = true
	}
	if o.MaxBody < 0 || o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("lease/http: MaxBody is %d and Timeout %v; they must not be negative", o.MaxBody, o.Timeout))
	}
	return errors.Join(faults...)
}

// Handler serves a provider.
type Handler struct {
	provider idgen.LeaseProvider
	options  HandlerOptions
	accounts []*account
}

var _ http.Handler = (*Handler)(nil)

// NewHandler returns a handler that serves provider. It returns what
// [HandlerOptions.Validate] finds.
func NewHandler(provider idgen.LeaseProvider, options HandlerOptions) (*Handler, error) {
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
	if options.Lister == nil {
		options.Lister, _ = provider.(Lister)
	}
	h := &Handler{provider: provider, options: options}
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
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	ctx, cancel := context.WithTimeout(r.Context(), h.options.Timeout)
	defer cancel()
	answer, err := h.serve(w, r.WithContext(ctx))
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	write(w, http.StatusOK, "application/json", answer)
}

// write answers in JSON. That the client has gone is no concern of ours.
func write(w http.ResponseWriter, status int, contentType string, answer any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// serve returns what to answer, nil for nothing.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	account, err := h.authenticate(r)
	if err != nil {
		return nil, err
	}
	id, release := strings.CutPrefix(r.URL.Path, "/lease/")
	switch {
	case r.URL.Path == "/lease":
		return h.acquire(w, r, account)
	case release && !strings.Contains(id, "/"):
		return nil, h.release(w, r, account, id)
	case r.URL.Path == "/leases":
		return h.list(w, r, account)
	case r.URL.Path == "/services":
		return h.services(w, r, account)
	}
	return nil, fault(http.StatusNotFound, codeNoResource, "there is %q, %q, %q and %q", "/lease", "/lease/{id}", "/leases", "/services")
}

// acquireAnswer is the specification's AcquireResponse.
type acquireAnswer struct {
	Leases []idgen.Lease `json:"leases"`
}

func (h *Handler) acquire(w http.ResponseWriter, r *http.Request, account *account) (any, error) {
	var req idgen.AcquireRequest
	if err := h.read(w, r, http.MethodPost, &req); err != nil {
		return nil, err
	}
	if err := account.permit(req.ServiceID); err != nil {
		return nil, err
	}
	leases, err := account.acquire(r.Context(), h.provider, req)
	if err != nil {
		return nil, err
	}
	return acquireAnswer{Leases: leases}, nil
}

func (h *Handler) release(w http.ResponseWriter, r *http.Request, account *account, id string) error {
	req := idgen.ReleaseRequest{ID: -1}
	if err := h.read(w, r, http.MethodDelete, &req); err != nil {
		return err
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || req.ID != -1 && req.ID != n {
		return fmt.Errorf("%w: the path has machine id %q, the body %d", lease.ErrInvalid, id, req.ID)
	}
	req.ID = n
	if err := account.permit(req.ServiceID); err != nil {
		return err
	}
	return h.provider.Release(r.Context(), req)
}

func (h *Handler) list(w http.ResponseWriter, r *http.Request, account *account) (any, error) {
	if err := allow(w, r, http.MethodGet, http.MethodHead); err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: the query: %w", lease.ErrInvalid, err)
	}
	options := lease.ListOptions{After: query.Get("after")}
	if text := query.Get("limit"); text != "" {
		if options.Limit, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("%w: the limit is %q", lease.ErrInvalid, text)
		}
	}
	if text := query.Get("ended"); text != "" {
		if options.Ended, err = strconv.ParseBool(text); err != nil {
			return nil, fmt.Errorf("%w: ended is %q", lease.ErrInvalid, text)
		}
	}
	service := query.Get("serviceId")
	if err := account.permit(service); err != nil {
		return nil, err
	}
	if h.options.Lister == nil || !account.mayList() {
		return nil, fault(http.StatusForbidden, codeForbidden, "leases are not listed here, or not for this token")
	}
	page, err := h.options.Lister.List(r.Context(), service, options)
	if err != nil {
		return nil, err
	}
	if page.Leases == nil {
		page.Leases = []lease.Info{}
	}
	return page, nil
}

// read reads a body that is one JSON object, and nothing behind it.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, method string, body any) error {
	if err := allow(w, r, method); err != nil {
		return err
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return fault(http.StatusUnsupportedMediaType, codeMediaType, "the content type is %q; it must be application/json", r.Header.Get("Content-Type"))
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.options.MaxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return fault(http.StatusRequestEntityTooLarge, codeTooLarge, "the body has more than %d bytes", tooLarge.Limit)
	}
	if err == nil {
		err = decodeObject(text, body)
	}
	if err != nil {
		return fmt.Errorf("%w: the body: %w", lease.ErrInvalid, err)
	}
	return nil
}

// decodeObject decodes a JSON object. An empty text and null are refused: they
// come from programs that forgot to send what they want, and would ask for a
// lease of the default service.
func decodeObject(text []byte, object any) error {
	if text = bytes.TrimLeft(text, " \t\r\n"); !bytes.HasPrefix(text, []byte("{")) {
		return fmt.Errorf("it must be a JSON object, such as {}; it begins with %.20q", text)
	}
	return json.Unmarshal(text, object)
}

// allow refuses other methods.
func allow(w http.ResponseWriter, r *http.Request, methods ...string) error {
	for _, method := range methods {
		if r.Method == method {
			return nil
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	return fault(http.StatusMethodNotAllowed, codeMethod, "the method is %q; it must be %s", r.Method, strings.Join(methods, " or "))
}
