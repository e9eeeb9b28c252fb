// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/examples/booking/office"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable/persistabletest"
)

const token = "0123456789abcdef0123456789abcdef"

// client sends requests to a service.
type client struct {
	t       *testing.T
	handler http.Handler
}

// do sends a request, decodes the answer into a result, if it is not nil, and returns the status.
func (c client) do(method, path string, body, result any) int {
	c.t.Helper()
	var b bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&b).Encode(body); err != nil {
			c.t.Fatal(err)
		}
	}
	r := httptest.NewRequestWithContext(c.t.Context(), method, path, &b)
	r.Header.Set("X-User", "ada")
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	if result != nil {
		if err := json.Unmarshal(w.Body.Bytes(), result); err != nil {
			c.t.Fatalf("%s %s: %d: %v: %s", method, path, w.Code, err, w.Body)
		}
	}
	return w.Code
}

// want is do, which must be answered with a status.
func (c client) want(status int, method, path string, body, result any) {
	c.t.Helper()
	if got := c.do(method, path, body, result); got != status {
		c.t.Errorf("%s %s: %d, want %d", method, path, got, status)
	}
}

func newClient(t *testing.T) client {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	db, s, err := open(t.Context(), engine, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return client{t, s}
}

var day = time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)

func hour(n int) time.Time { return day.Add(time.Duration(n) * time.Hour) }

// house is a room and a guest of a house.
func (c client) house(name string) (room office.Room, guest office.Guest) {
	c.t.Helper()
	c.want(200, "POST", "/houses/"+name+"/rooms", map[string]any{"Name": "Blue Room", "Seats": 8}, &room)
	c.want(200, "POST", "/houses/"+name+"/guests", map[string]any{"Name": "Grace Hopper", "Email": "Grace@Example.com", "Notes": "prefers the ground floor"}, &guest)
	return room, guest
}

func TestRecordsAreChecked(t *testing.T) {
	c := newClient(t)
	c.house("north")
	for _, one := range []struct {
		status int
		path   string
		body   map[string]any
	}{
		{409, "rooms", map[string]any{"Name": "BLUE ROOM", "Seats": 2}}, // by case folding
		{422, "rooms", map[string]any{"Name": "Red Room", "Seats": 0}},
		{422, "rooms", map[string]any{"Name": "", "Seats": 1}},
		{422, "rooms", map[string]any{"Name": "Red Room", "Seats": 1, "House": "south"}}, // another tenant's
		{400, "rooms", map[string]any{"Name": "Red Room", "Chairs": 1}},
		{409, "guests", map[string]any{"Name": "G. Hopper", "Email": "grace@example.COM"}},
		{422, "guests", map[string]any{"Name": "G. Hopper", "Email": "grace"}},
		{422, "bookings", map[string]any{"RoomID": "1", "GuestID": "1", "Begin": hour(1), "End": hour(2)}}, // there is no such room
	} {
		c.want(one.status, "POST", "/houses/north/"+one.path, one.body, nil)
	}
	c.want(200, "POST", "/houses/south/rooms", map[string]any{"Name": "Blue Room", "Seats": 1}, nil) // a house of its own
}

func TestNoTwoBookingsOverlap(t *testing.T) {
	c := newClient(t)
	room, guest := c.house("north")
	request := func(begin, end time.Time) map[string]any {
		return map[string]any{"RoomID": room.ID, "GuestID": guest.ID, "Begin": begin, "End": end}
	}
	var first office.Reservation
	c.want(200, "POST", "/houses/north/bookings", request(hour(10), hour(12)), &first)
	for _, one := range []struct{ status, begin, end int }{
		{409, 10, 12}, {409, 9, 11}, {409, 11, 13}, {409, 9, 13}, {409, 11, 12}, {422, 14, 14}, {200, 8, 10}, {200, 12, 13},
	} {
		c.want(one.status, "POST", "/houses/north/bookings", request(hour(one.begin), hour(one.end)), nil)
	}
	c.want(204, "POST", fmt.Sprintf("/houses/north/bookings/%s/cancel", first.ID), nil, nil)
	c.want(200, "POST", "/houses/north/bookings", request(hour(11), hour(12)), nil)
}

// TestOneOfManyGetsTheRoom books each day from many sides at once, on a database with the faults of a cluster.
func TestOneOfManyGetsTheRoom(t *testing.T) {
	db := persistabletest.Open(t, persistabletest.Options{Hostile: true})
	o := office.Of(db, "north")
	room, guest := o.Rooms.New(office.Room{Name: "Blue Room", Seats: 1}), o.Guests.New(office.Guest{Name: "Grace", Email: "g@example.com"})
	if err := o.Rooms.Create(t.Context(), room); err != nil {
		t.Fatal(err)
	}
	if err := o.Guests.Create(t.Context(), guest); err != nil {
		t.Fatal(err)
	}
	const days, guests = 12, 6
	var booked [days]atomic.Int64
	var all sync.WaitGroup
	for i := range days * guests {
		all.Go(func() {
			begin := hour(24*(i%days) + i/days)
			if _, err := o.Book(t.Context(), room.ID, guest.ID, begin, begin.Add(8*time.Hour)); err == nil {
				booked[i%days].Add(1)
			} else if !errors.Is(err, office.ErrTaken) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range booked {
		begin := hour(24 * i)
		stored, err := o.Reservations.OrderedByBegin().From(begin).Before(begin.Add(24 * time.Hour)).Slice(t.Context())
		if err != nil || len(stored) != 1 || booked[i].Load() != 1 {
			t.Errorf("day %d: %d bookings, %d acknowledged, %v; want 1", i, len(stored), booked[i].Load(), err)
		}
	}
}

func TestLists(t *testing.T) {
	c := newClient(t)
	room, guest := c.house("north")
	for i := range 5 {
		c.want(200, "POST", "/houses/north/bookings", map[string]any{"RoomID": room.ID, "GuestID": guest.ID, "Begin": hour(i), "End": hour(i + 1)}, nil)
	}
	list := func(token string) (hours []int, l office.List) {
		c.want(200, "GET", "/houses/north/bookings?n=2&from="+hour(1).Format(time.RFC3339)+"&token="+url.QueryEscape(token), nil, &l)
		for _, line := range l.Lines {
			if line.Room != "Blue Room" || line.Guest != "Grace Hopper" {
				t.Errorf("room %q, guest %q", line.Room, line.Guest)
			}
			hours = append(hours, line.Begin.Hour())
		}
		return hours, l
	}
	first, l := list("")
	second, l2 := list(l.Next)
	back, _ := list(l2.Previous)
	if diff := cmp.Diff([][]int{{1, 2}, {3, 4}, {1, 2}}, [][]int{first, second, back}); diff != "" {
		t.Error(diff)
	}
	c.want(400, "GET", "/houses/north/bookings?token=forged", nil, nil)
	c.want(400, "GET", "/houses/north/bookings?n=0", nil, nil)
	var none office.List
	if c.want(200, "GET", "/houses/south/bookings", nil, &none); len(none.Lines) != 0 {
		t.Errorf("another house has %d bookings", len(none.Lines))
	}
}

func TestGuestsAreFoundAndKept(t *testing.T) {
	c := newClient(t)
	room, guest := c.house("north")
	for text, want := range map[string]int{"grace": 1, "HOP": 1, "ground flo": 1, "grace kelly": 0} {
		var found []office.Guest
		if c.want(200, "GET", "/houses/north/guests?q="+url.QueryEscape(text), nil, &found); len(found) != want {
			t.Errorf("%q finds %d guests, want %d", text, len(found), want)
		}
	}
	var b office.Reservation
	c.want(200, "POST", "/houses/north/bookings", map[string]any{"RoomID": room.ID, "GuestID": guest.ID, "Begin": hour(1), "End": hour(2)}, &b)
	c.want(409, "DELETE", fmt.Sprintf("/houses/north/guests/%s", guest.ID), nil, nil) // there is a booking
	c.want(200, "POST", fmt.Sprintf("/houses/north/bookings/%s/notes", b.ID), map[string]any{"Text": "late arrival"}, nil)
	c.want(204, "POST", fmt.Sprintf("/houses/north/bookings/%s/cancel", b.ID), nil, nil)

	var log []office.Entry
	c.want(200, "GET", fmt.Sprintf("/houses/north/bookings/%s/log", b.ID), nil, &log)
	if len(log) != 2 || log[0].State != office.Booked || log[1].State != office.Cancelled || log[1].User != "ada" || log[1].At.IsZero() {
		t.Errorf("the log: %+v", log)
	}
}

func TestGuestsAreRestored(t *testing.T) {
	c := newClient(t)
	_, guest := c.house("north")
	at := fmt.Sprintf("/houses/north/guests/%s", guest.ID)
	found := func() (list []office.Guest) {
		c.want(200, "GET", "/houses/north/guests?q=grace", nil, &list)
		return list
	}
	c.want(204, "DELETE", at, nil, nil)
	if list := found(); len(list) != 0 {
		t.Errorf("a deleted guest is found: %+v", list)
	}
	c.want(204, "POST", at+"/restore", nil, nil)
	if list := found(); len(list) != 1 || !list[0].DeletedAt.IsZero() {
		t.Errorf("a restored guest is not found: %+v", list)
	}
	c.want(204, "DELETE", at, nil, nil)
	c.want(200, "POST", "/houses/north/guests", map[string]any{"Name": "Grace II", "Email": "grace@example.com"}, nil)
	c.want(409, "POST", at+"/restore", nil, nil) // the address has another owner
}

// TestPageOverTheData: the page asks for its token, and is not there without one.
func TestPageOverTheData(t *testing.T) {
	c := newClient(t)
	r := httptest.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1/studio/api/info", nil)
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("%d %s", w.Code, strings.TrimSpace(w.Body.String()))
	}
}
