// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/kazahana-db/kazahana/examples/booking/office"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// errRequest says that a request cannot be read.
var errRequest = errors.New("bad request")

// verb is what a request does in the office of its house. It returns what the answer is.
type verb func(r *http.Request, o *office.Office) (any, error)

// routes returns the service. The header X-User names the user: a real service takes the name from its own login.
func routes(db *persistable.DB) *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, do := range map[string]verb{
		"POST /houses/{house}/rooms":                createRoom,
		"POST /houses/{house}/guests":               createGuest,
		"GET /houses/{house}/guests":                findGuests,
		"DELETE /houses/{house}/guests/{id}":        deleteGuest,
		"POST /houses/{house}/guests/{id}/restore":  restoreGuest,
		"POST /houses/{house}/bookings":             book,
		"GET /houses/{house}/bookings":              listBookings,
		"POST /houses/{house}/bookings/{id}/cancel": cancel,
		"POST /houses/{house}/bookings/{id}/notes":  remark,
		"GET /houses/{house}/bookings/{id}/log":     showLog,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r = r.WithContext(office.WithUser(r.Context(), r.Header.Get("X-User")))
			result, err := do(r, office.Of(db, r.PathValue("house")))
			answer(w, result, err)
		})
	}
	return mux
}

func createRoom(r *http.Request, o *office.Office) (any, error) {
	literal, err := body[office.Room](r)
	if err != nil {
		return nil, err
	}
	room, err := o.Rooms.TryNew(literal)
	if err != nil {
		return nil, err
	}
	return room, o.Rooms.Create(r.Context(), room)
}

func createGuest(r *http.Request, o *office.Office) (any, error) {
	literal, err := body[office.Guest](r)
	if err != nil {
		return nil, err
	}
	guest, err := o.Guests.TryNew(literal)
	if err != nil {
		return nil, err
	}
	return guest, o.Guests.Create(r.Context(), guest)
}

func findGuests(r *http.Request, o *office.Office) (any, error) {
	return o.FindGuests(r.Context(), r.FormValue("q"), 20)
}

func deleteGuest(r *http.Request, o *office.Office) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	return nil, o.Guests.Delete(r.Context(), id)
}

func restoreGuest(r *http.Request, o *office.Office) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	return nil, o.RestoreGuest(r.Context(), id)
}

func book(r *http.Request, o *office.Office) (any, error) {
	b, err := body[office.Reservation](r)
	if err != nil {
		return nil, err
	}
	return o.Book(r.Context(), b.RoomID, b.GuestID, b.Begin, b.End)
}

func listBookings(r *http.Request, o *office.Office) (any, error) {
	from, err := time.Parse(time.RFC3339, cmp.Or(r.FormValue("from"), time.Unix(0, 0).UTC().Format(time.RFC3339)))
	if err != nil {
		return nil, fmt.Errorf("%w: from: %w", errRequest, err)
	}
	n, err := strconv.Atoi(cmp.Or(r.FormValue("n"), "20"))
	if err != nil || n < 1 || n > 100 {
		return nil, fmt.Errorf("%w: n: want 1 to 100", errRequest)
	}
	return o.List(r.Context(), from, n, r.FormValue("token"))
}

func cancel(r *http.Request, o *office.Office) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	return nil, o.Cancel(r.Context(), id)
}

func remark(r *http.Request, o *office.Office) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	literal, err := body[office.Remark](r)
	if err != nil {
		return nil, err
	}
	literal.ReservationID = id
	one, err := o.Remarks.TryNew(literal)
	if err != nil {
		return nil, err
	}
	return one, o.Remarks.Create(r.Context(), one)
}

func showLog(r *http.Request, o *office.Office) (any, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	return o.Log.ByReservationID(id).Limit(100).Slice(r.Context())
}

func pathID(r *http.Request) (id idgen.ID, err error) {
	if err = id.UnmarshalText([]byte(r.PathValue("id"))); err != nil {
		err = fmt.Errorf("%w: %w", errRequest, err)
	}
	return id, err
}

// body decodes the body of a request, and refuses fields that there are not.
func body[T any](r *http.Request) (v T, err error) {
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err = d.Decode(&v); err != nil {
		err = fmt.Errorf("%w: %w", errRequest, err)
	}
	return v, err
}

// answer writes the result of a request, or its error.
func answer(w http.ResponseWriter, result any, err error) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case err != nil:
		w.WriteHeader(statusOf(err))
		result = map[string]string{"error": err.Error()}
	case result == nil:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	_ = json.NewEncoder(w).Encode(result) // it fails if the client has gone
}

// statusOf returns the status of an error, by the table in docs/errors.md.
func statusOf(err error) int {
	switch {
	case kv.IsOutcomeUnknown(err), errors.Is(err, persistable.ErrNotBuilt), kv.IsRetryable(err):
		return http.StatusServiceUnavailable
	case errors.Is(err, persistable.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, errRequest), errors.Is(err, persistable.ErrBadToken):
		return http.StatusBadRequest
	case errors.Is(err, office.ErrTaken), errors.Is(err, persistable.ErrReferred), errors.As(err, new(*persistable.UniqueError)):
		return http.StatusConflict
	case errors.Is(err, persistable.ErrRefused), errors.Is(err, persistable.ErrDangling), errors.As(err, new(*persistable.DirectoryError)):
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}
