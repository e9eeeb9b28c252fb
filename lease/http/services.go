// SPDX-License-Identifier: Apache-2.0

package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/kazahana-db/kazahana/lease"
)

// Enumerator tells which services there are, as [lease.Server] does.
type Enumerator interface {
	Services(ctx context.Context, after string, limit int) ([]string, error)
}

// servicesAnswer is the answer to GET /services.
type servicesAnswer struct {
	Services []string `json:"services"`
	Next     string   `json:"next,omitempty"` // continues the list as after; "" if this is its end
}

// services answers GET /services: those that the token may lease for.
func (h *Handler) services(w http.ResponseWriter, r *http.Request, account *account) (any, error) {
	if err := allow(w, r, http.MethodGet, http.MethodHead); err != nil {
		return nil, err
	}
	store, ok := h.options.Lister.(Enumerator)
	if !ok || !account.mayList() {
		return nil, fault(http.StatusForbidden, codeForbidden, "services are not listed here, or not for this token")
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
	ids, err := store.Services(r.Context(), query.Get("after"), limit)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fault(http.StatusForbidden, codeForbidden, "the store of this server does not list services")
	}
	if err != nil {
		return nil, err
	}
	answer := servicesAnswer{Services: []string{}}
	if len(ids) > 0 {
		answer.Next = ids[len(ids)-1]
	}
	answer.Services = append(answer.Services, slices.DeleteFunc(ids, func(id string) bool { return account.permit(id) != nil })...)
	return answer, nil
}

// Services implements [Enumerator], for tokens that may list: those of the
// server's services that the token may lease for. Errors are as for Acquire.
func (c *Client) Services(ctx context.Context, after string, limit int) (ids []string, err error) {
	for {
		where := c.base.JoinPath("services")
		where.RawQuery = url.Values{"after": {after}, "limit": {strconv.Itoa(limit)}}.Encode()
		var answer servicesAnswer
		if err := c.call(ctx, http.MethodGet, where, nil, &answer); err != nil {
			return nil, err
		}
		if len(answer.Services) > 0 || answer.Next <= after {
			return answer.Services, nil
		}
		after = answer.Next // none of these is the token's
	}
}
