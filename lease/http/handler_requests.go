// SPDX-License-Identifier: Apache-2.0

package http

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
)

// acquireAnswer is the specification's AcquireResponse.
type acquireAnswer struct {
	Leases []idgen.Lease `json:"leases"`
}

func (h *handler) handleAcquire(w http.ResponseWriter, r *http.Request, account *account) (any, error) {
	var req idgen.AcquireRequest
	if err := h.readBody(w, r, http.MethodPost, &req); err != nil {
		return nil, err
	}
	if err := account.checkService(req.ServiceID); err != nil {
		return nil, err
	}
	leases, err := account.acquire(r.Context(), h.provider, req)
	if err != nil {
		return nil, err
	}
	return acquireAnswer{Leases: leases}, nil
}

func (h *handler) handleRelease(w http.ResponseWriter, r *http.Request, account *account, id string) error {
	req := idgen.ReleaseRequest{ID: -1}
	if err := h.readBody(w, r, http.MethodDelete, &req); err != nil {
		return err
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || req.ID != -1 && req.ID != n {
		return fmt.Errorf("%w: the path has machine id %q, the body %d", lease.ErrInvalid, id, req.ID)
	}
	req.ID = n
	if req.ServiceID == "" && req.IsLiteral() {
		return h.releaseLiteral(r.Context(), account, req)
	}
	if err := account.checkService(req.ServiceID); err != nil {
		return err
	}
	return h.provider.Release(r.Context(), req)
}

// releaseLiteral releases a lease of a service that the request does not name, as in
// the specification, where machine ids are common to all services. It asks each
// service of the account: the secret of one lease alone has made the signature.
func (h *handler) releaseLiteral(ctx context.Context, account *account, req idgen.ReleaseRequest) error {
	services, err := h.servicesOf(ctx, account)
	if err != nil {
		return err
	}
	var refused error
	for _, req.ServiceID = range services {
		err := h.provider.Release(ctx, req)
		switch {
		case errors.Is(err, lease.ErrSignature), errors.Is(err, lease.ErrExpiredTimestamp), errors.Is(err, lease.ErrCorrupt), errors.Is(err, lease.ErrNewer):
			refused = err // says more than that a service has no such lease
		case errors.Is(err, lease.ErrNotFound), errors.Is(err, lease.ErrInvalid), errors.Is(err, lease.ErrUnknownService):
			refused = cmp.Or(refused, err)
		default:
			return err
		}
	}
	return refused
}

// servicesOf returns the services that an account may lease for. The default service
// comes first if it is one of them. A provider that does not list its services is
// asked for that alone.
func (h *handler) servicesOf(ctx context.Context, account *account) ([]string, error) {
	if account != nil && len(account.Services) > 0 {
		return account.Services, nil
	}
	services := []string{lease.DefaultService}
	for after := ""; h.lister != nil; {
		page, err := h.lister.Services(ctx, after, 0)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1]
		services = append(services, slices.DeleteFunc(page, func(id string) bool { return id == lease.DefaultService })...)
	}
	return services, nil
}

func (h *handler) handleList(w http.ResponseWriter, r *http.Request, account *account) (any, error) {
	if err := checkMethod(w, r, http.MethodGet, http.MethodHead); err != nil {
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
	if err := account.checkService(service); err != nil {
		return nil, err
	}
	if h.lister == nil || !account.mayList() {
		return nil, newStatusError(http.StatusForbidden, codeForbidden, "leases are not listed here, or not for this token")
	}
	page, err := h.lister.List(r.Context(), service, options)
	unread := page.UnreadBlocks(err)
	if err != nil && unread == nil {
		return nil, err
	}
	if page.Leases == nil {
		page.Leases = []lease.Info{}
	}
	answer := leasePage{Page: page}
	for _, err := range unread {
		answer.Damage = append(answer.Damage, damageOf(err))
	}
	return answer, nil
}

// leasePage is the answer to a request for a page of leases.
type leasePage struct {
	lease.Page
	Damage []damage `json:"damage,omitempty"` // the blocks that cannot be read
}

// damage says why a block cannot be read: it is damaged, or, with a code, a newer version wrote it.
type damage struct {
	ServiceID string `json:"serviceId,omitempty"`
	Key       []byte `json:"key,omitempty"`
	Cause     string `json:"cause"`
	Code      string `json:"code,omitempty"` // codeNewer, or "" for damage
}

func damageOf(err error) damage {
	var corrupt *refusal.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return damage{ServiceID: corrupt.ServiceID, Key: corrupt.Key, Cause: corrupt.Cause.Error()}
	case errors.Is(err, lease.ErrNewer):
		return damage{Cause: err.Error(), Code: codeNewer}
	}
	return damage{Cause: err.Error()}
}

// toError is the inverse of damageOf: what the client returns.
func (d damage) toError() error {
	return problem{Code: cmp.Or(d.Code, codeCorrupt), ServiceID: d.ServiceID, Key: d.Key, Cause: d.Cause, Detail: d.Cause}.toError()
}

// readBody reads a body that is one JSON object, and nothing after it.
func (h *handler) readBody(w http.ResponseWriter, r *http.Request, method string, body any) error {
	if err := checkMethod(w, r, method); err != nil {
		return err
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return newStatusError(http.StatusUnsupportedMediaType, codeMediaType, "the content type is %q; it must be application/json", r.Header.Get("Content-Type"))
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.options.MaxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return newStatusError(http.StatusRequestEntityTooLarge, codeTooLarge, "the body has more than %d bytes", tooLarge.Limit)
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

// checkMethod refuses other methods.
func checkMethod(w http.ResponseWriter, r *http.Request, methods ...string) error {
	for _, method := range methods {
		if r.Method == method {
			return nil
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	return newStatusError(http.StatusMethodNotAllowed, codeMethod, "the method is %q; it must be %s", r.Method, strings.Join(methods, " or "))
}
