// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
)

// TestErrorsCrossTheWire checks that the client returns the errors that the
// provider returned, with their data.
func TestErrorsCrossTheWire(t *testing.T) {
	layout := idgen.DefaultLayout()
	other := layout
	other.CustomEpoch = 1
	for _, want := range []error{
		lease.ErrInvalid, lease.ErrUnknownService, lease.ErrNotFound, lease.ErrSignature, lease.ErrExpiredTimestamp, lease.ErrLastTs, lease.ErrNewer,
		lease.ErrTooManyServices, lease.ErrExhausted, lease.ErrBudget, lease.ErrQuarantine, lease.ErrCorrupt, idgen.ErrCustomEpochMismatch,
		&refusal.ExhaustedError{ServiceID: "a", Throughput: 7},
		&refusal.BudgetError{ServiceID: "a", Throughput: 7, Leased: 8, PerMs: 9},
		&refusal.QuarantineError{ServiceID: "a", Until: time.UnixMilli(idgen.DefaultCustomEpoch).UTC()},
		&refusal.EpochMismatchError{ServiceID: "a", Got: refusal.Layout(layout), Want: refusal.Layout(other)},
		&refusal.CorruptError{ServiceID: "a", Key: []byte{0, 255}, Cause: errors.New("why")},
		&refusal.TimeRangeError{Time: layout.First().Add(-1), First: layout.First(), Last: layout.Last()},
	} {
		c := serve(t, faultyProvider{fmt.Errorf("wrapped: %w", want)}, leasehttp.HandlerOptions{})
		_, acquire := c.Acquire(t.Context(), idgen.AcquireRequest{})
		_, list := c.List(t.Context(), "", lease.ListOptions{})
		for _, got := range []error{acquire, c.Release(t.Context(), idgen.ReleaseRequest{}), list} {
			if !isSameError(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	}
	for _, want := range []error{lease.ErrExhausted, lease.ErrBudget, lease.ErrQuarantine} {
		h := handler(t, faultyProvider{fmt.Errorf("%w: the pool of region 7", want)}, leasehttp.HandlerOptions{})
		if res := send(t, h, "POST", "/lease", "{}"); res.Code < 429 || res.Header().Get("Retry-After") != "1" || !strings.Contains(res.Body.String(), "region 7") {
			t.Errorf("%v, as a provider of another module returns it: got %d %s %v", want, res.Code, res.Body, res.Header())
		}
	}
	c := serve(t, faultyProvider{errors.New("password of the database")}, leasehttp.HandlerOptions{})
	_, err := c.Acquire(t.Context(), idgen.AcquireRequest{})
	var status *leasehttp.StatusError
	if !errors.As(err, &status) || status.Status != http.StatusInternalServerError || strings.Contains(err.Error(), "password") {
		t.Errorf("an error of the store: got %v", err)
	}
}

// isSameError reports whether got is the sentinel want, or has an error of its type and
// text in it.
func isSameError(got, want error) bool {
	var (
		exhausted  *refusal.ExhaustedError
		budget     *refusal.BudgetError
		quarantine *refusal.QuarantineError
		epoch      *refusal.EpochMismatchError
		corrupt    *refusal.CorruptError
		clock      *refusal.TimeRangeError
	)
	switch want := want.(type) {
	case *refusal.ExhaustedError:
		return errors.As(got, &exhausted) && *exhausted == *want && errors.Is(got, lease.ErrExhausted)
	case *refusal.BudgetError:
		return errors.As(got, &budget) && *budget == *want && errors.Is(got, lease.ErrBudget)
	case *refusal.QuarantineError:
		return errors.As(got, &quarantine) && *quarantine == *want && errors.Is(got, lease.ErrQuarantine)
	case *refusal.EpochMismatchError:
		return errors.As(got, &epoch) && *epoch == *want && errors.Is(got, idgen.ErrCustomEpochMismatch)
	case *refusal.CorruptError:
		return errors.As(got, &corrupt) && corrupt.Error() == want.Error() && errors.Is(got, lease.ErrCorrupt)
	case *refusal.TimeRangeError:
		return errors.As(got, &clock) && *clock == *want && errors.Is(got, idgen.ErrBeforeCustomEpoch)
	}
	return errors.Is(got, want)
}

// TestRefusals checks what no provider gets to see.
func TestRefusals(t *testing.T) {
	h := handler(t, newMemory(t), leasehttp.HandlerOptions{MaxBody: 100})
	long := `{"serviceId":"` + strings.Repeat("a", 100) + `"}`
	for _, c := range []struct {
		method, target, body string
		headers              []string
		status               int
	}{
		{"POST", "/lease", "{}", []string{"Authorization", ""}, 401},
		{"POST", "/lease", "{}", []string{"Authorization", "Bearer"}, 401},
		{"POST", "/lease", "{}", []string{"Authorization", "Bearer wrong"}, 401},
		{"POST", "/lease", "{}", []string{"Authorization", "Basic " + secret}, 401},
		{"GET", "/nowhere", "", []string{"Authorization", "x"}, 401},
		{"GET", "/nowhere", "", nil, 404},
		{"POST", "/lease/1/2", "", nil, 404},
		{"POST", "/", "", nil, 404},
		{"GET", "/lease", "", nil, 405},
		{"POST", "/lease/1", "{}", nil, 405},
		{"POST", "/leases", "{}", nil, 405},
		{"POST", "/lease", "{}", []string{"Content-Type", "text/plain"}, 415},
		{"POST", "/lease", "{}", []string{"Content-Type", ""}, 415},
		{"POST", "/lease", long, nil, 413},
		{"POST", "/lease", "{", nil, 400},
		{"POST", "/lease", "", nil, 400},
		{"POST", "/lease", " \n", nil, 400},
		{"POST", "/lease", "null", nil, 400},
		{"POST", "/lease", " null ", nil, 400},
		{"POST", "/lease", "7", nil, 400},
		{"DELETE", "/lease/1", "", nil, 400},
		{"DELETE", "/lease/1", "null", nil, 400},
		{"POST", "/lease", "{} {}", nil, 400},
		{"POST", "/lease", "[]", nil, 400},
		{"POST", "/lease", `{"throughputPerMs":1e99}`, nil, 400},
		{"POST", "/lease", `{"throughputPerMs":2097152}`, nil, 400},
		{"POST", "/lease", `{"serviceId":"../x"}`, nil, 400},
		{"DELETE", "/lease/", "{}", nil, 400},
		{"DELETE", "/lease/x", "{}", nil, 400},
		{"DELETE", "/lease/1", `{"id":2}`, nil, 400},
		{"DELETE", "/lease/99999999999999999999", "{}", nil, 400},
		{"GET", "/leases?limit=x", "", nil, 400},
		{"GET", "/leases?ended=x", "", nil, 400},
		{"GET", "/leases?limit=1001", "", nil, 400},
		{"GET", "/leases?a=%zz", "", nil, 400},
	} {
		if res := send(t, h, c.method, c.target, c.body, c.headers...); res.Code != c.status {
			t.Errorf("%s %s %.30s %q: got %d %s, want %d", c.method, c.target, c.body, c.headers, res.Code, res.Body, c.status)
		}
	}
}

// damagedLister lists one lease, and four blocks that cannot be read: one is a newer version's, and one
// a lister of another module reports.
type damagedLister struct{ faultyProvider }

func (damagedLister) List(context.Context, string, lease.ListOptions) (lease.Page, error) {
	fault := func(key string) error {
		return &refusal.CorruptError{ServiceID: "a", Key: []byte(key), Cause: errors.New("why")}
	}
	return lease.Page{Leases: []lease.Info{{ID: 7}}, Next: "00000009"}, fmt.Errorf("wrapped: %w", errors.Join(fault("b1"), fmt.Errorf(`key "b0": %w: run version v9.0.0 or later`, lease.ErrNewer), fault("b2"),
		fmt.Errorf("%w: key %q: %w", lease.ErrCorrupt, "b3", errors.New("checksum"))))
}

// TestDamageCrossesTheWire: blocks that cannot be read hide no lease from a client, and it learns of
// each.
func TestDamageCrossesTheWire(t *testing.T) {
	c := serve(t, damagedLister{}, leasehttp.HandlerOptions{})
	page, err := c.List(t.Context(), "", lease.ListOptions{})
	if len(page.Leases) != 1 || page.Leases[0].ID != 7 || page.Next != "00000009" {
		t.Errorf("the page is %+v", page)
	}
	for _, words := range []string{`key "b1": why`, `key "b2": why`, `key "b0": `, "run version v9.0.0 or later", `key "b3": checksum`} {
		if !errors.Is(err, lease.ErrCorrupt) || !errors.Is(err, lease.ErrNewer) || !strings.Contains(err.Error(), words) {
			t.Errorf("the error is %v, without %q", err, words)
		}
	}
	unread := page.UnreadBlocks(err)
	if len(unread) != 4 || errors.Is(unread[1], lease.ErrCorrupt) || errors.Is(unread[3], lease.ErrNewer) {
		t.Errorf("the blocks that are not read: %v", unread)
	}
}
