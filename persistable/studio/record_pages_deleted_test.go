// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/persistable/testdata/deleted"
)

// TestReferencesOfFields: the page tells where the records are to which a field refers.
func TestReferencesOfFields(t *testing.T) {
	s := start(t, Options{})
	if err := deleted.CustomerStoreOf(s.db).Create(t.Context(), &deleted.Customer{ID: 7, Name: "Anna"}); err != nil {
		t.Fatal(err)
	}
	if err := deleted.OrderStoreOf(s.db).Create(t.Context(), &deleted.Order{ID: 1, CustomerID: 7}); err != nil {
		t.Fatal(err)
	}
	var shown struct{ Schema struct{ Refers refers } }
	s.get("record", url.Values{"p": {"Order"}, "type": {"Order"}, "id": {"1"}}, &shown)
	if want := (refers{"CustomerID": {[]string{"Customer"}, "Customer"}}); !reflect.DeepEqual(shown.Schema.Refers, want) {
		t.Errorf("the references are %v, want %v", shown.Schema.Refers, want)
	}
	own, path := strings.Split("shops/{Shop}/{Year}(partition)/orders", "/"), []string{"shops", "3", "2026", "orders"}
	for to, want := range map[string][]string{
		"customers":                         {"customers"},
		"shops/{Shop}/customers":            {"shops", "3", "customers"},
		"{Year}/{Shop}(partition)/invoices": {"2026", "3", "invoices"},
		"shops/{Other}/customers":           nil,
	} {
		if got := fillPath(strings.Split(to, "/"), own, path); !slices.Equal(got, want) {
			t.Errorf("%s is at %q, want %q", to, got, want)
		}
	}
}

// TestDeletedRecords: the page deletes a record as its program does, shows it as deleted where it is asked for,
// restores it by a save without the time, and removes a deleted one for good.
func TestDeletedRecords(t *testing.T) {
	s := start(t, Options{Write: true})
	orders := deleted.OrderStoreOf(s.db)
	if err := orders.Create(t.Context(), &deleted.Order{ID: 1, Number: "A"}); err != nil {
		t.Fatal(err)
	}
	in := func(more ...string) url.Values {
		q := url.Values{"p": {"Order"}, "type": {"Order"}}
		for i := 0; i < len(more); i += 2 {
			q.Set(more[i], more[i+1])
		}
		return q
	}
	type record struct {
		Etag string
		Row  struct{ Deleted bool }
	}
	change := func(verb, text string) {
		t.Helper()
		var answer struct{ Error string }
		var shown record
		s.get("record", in("id", "1"), &shown)
		body := map[string]any{"path": []string{"Order"}, "type": "Order", "id": "1", "etag": shown.Etag, "record": text}
		if status := s.post("record/"+verb, body, &answer); status != http.StatusOK {
			t.Fatalf("%s answers %d %s", verb, status, answer.Error)
		}
	}
	want := func(live, all int, isDeleted bool) {
		t.Helper()
		type page struct{ Rows []struct{ Deleted bool } }
		var short, list page
		s.get("records", in(), &short)
		if len(short.Rows) != live {
			t.Errorf("%d records are listed, want %d", len(short.Rows), live)
		}
		s.get("records", in("deleted", "1"), &list)
		if len(list.Rows) != all || all > 0 && list.Rows[0].Deleted != isDeleted {
			t.Errorf("with the deleted ones the list is %+v", list.Rows)
		}
		if all > 0 {
			var shown record
			if s.get("record", in("id", "1"), &shown); shown.Row.Deleted != isDeleted {
				t.Errorf("the record is shown as %+v", shown)
			}
		}
	}
	want(1, 1, false)
	change("delete", "")
	want(0, 1, true)
	change("save", `{"ID": 1, "Number": "A", "Amount": 3}`)
	want(1, 1, false)
	if o, err := orders.Get(t.Context(), 1); err != nil || o.Amount != 3 {
		t.Errorf("%+v, %v", o, err)
	}
	change("delete", "")
	change("delete", "")
	want(0, 0, false)
}
