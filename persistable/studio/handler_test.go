// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/cluster/clustertest"
	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable"
)

// orders are the parameters of the store of orders.
func orders(more ...string) url.Values {
	q := url.Values{"p": {"tenants", "tenant-1", "orders"}, "type": {"Order"}}
	for i := 0; i < len(more); i += 2 {
		q.Add(more[i], more[i+1])
	}
	return q
}

const firstOrder = "72623859790382856"

// TestReadOnly asks for everything that a page may ask for, and for everything that would write:
// the database is the same afterwards.
func TestReadOnly(t *testing.T) {
	s := start(t, Options{})
	before := dump(t, s.db)
	for path, q := range map[string]url.Values{
		"info": nil, "state": nil, "health": nil, "directory": {"p": {"tenants", "tenant-1"}}, "directories": {"p": {"tenants"}}, "sizes": nil, "sets": nil, "tenants": {"p": {"tenants"}}, "tenant": {"p": {"tenants", "tenant-1"}}, "types": nil,
		"schema": orders(), "history": orders(), "records": orders(), "record": orders("id", firstOrder), "indexes": orders(), "leases": nil,
		"decode": {"id": {firstOrder}}, "metrics": nil, "jobs": nil,
	} {
		if status := s.get(path, q, nil); status != http.StatusOK {
			t.Errorf("%s answers %d", path, status)
		}
	}
	store := map[string]any{"path": []string{"tenants", "tenant-1", "orders"}, "type": "Order"}
	tenant := map[string]any{"path": []string{"tenants", "tenant-1"}}
	for path, body := range map[string]any{
		"record/create": store, "record/save": store, "record/delete": store, "indexes/build": store, "indexes/repair": store, "indexes/drop": store,
		"tenant/lock": tenant, "tenant/unlock": tenant, "tenant/remove": tenant,
	} {
		var answer struct{ Error string }
		if status := s.post(path, body, &answer); status != http.StatusForbidden || !strings.Contains(answer.Error, "--write") {
			t.Errorf("%s answers %d: %s", path, status, answer.Error)
		}
	}
	if status := s.post("indexes/verify", store, nil); status != http.StatusOK {
		t.Fatalf("a verification answers %d", status)
	}
	s.awaitJob("verify")
	if after := dump(t, s.db); !slices.Equal(before, after) {
		t.Errorf("the database has changed: %d lines before, %d after", len(before), len(after))
	}
}

// mayBeNull has the members of answers that are not lists and may be null.
var mayBeNull = map[string]bool{"until": true, "bytes": true}

// TestListsAreNotNull asks for everything that a page may ask for, of an empty database and of one
// with records and a lease that was released: a list without elements is [], not null.
func TestListsAreNotNull(t *testing.T) {
	empty, err := persistable.Open(t.Context(), openMemory(t), persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(t, empty) })
	full := start(t, Options{Write: true})
	releaseLease(t, full.db.Engine())
	store := map[string]any{"path": []string{"counters"}, "type": "Counter"}
	full.post("indexes/verify", store, nil)
	full.awaitJob("verify")
	counters := url.Values{"p": {"counters"}, "type": {"Counter"}}
	for _, c := range []struct {
		site  *site
		path  string
		q     url.Values
		lists int // at least
	}{
		{serve(t, empty, Options{}), "directories", nil, 2},
		{serve(t, empty, Options{}), "sizes", nil, 2},
		{serve(t, empty, Options{}), "types", nil, 1},
		{serve(t, empty, Options{}), "sets", nil, 1},
		{serve(t, empty, Options{}), "leases", url.Values{"service": {"default"}}, 2},
		{serve(t, empty, Options{}), "metrics", nil, 2},
		{serve(t, empty, Options{}), "health", nil, 1},
		{startOn(t, clustertest.Pretend(openMemory(t), clustertest.Double), Options{}), "health", nil, 5},
		{startOn(t, clustertest.Pretend(openMemory(t), clustertest.Unavailable), Options{}), "health", nil, 5},
		{serve(t, empty, Options{}), "jobs", nil, 1},
		{full, "leases", url.Values{"service": {"default"}}, 2},
		{full, "directories", nil, 2},
		{full, "directories", url.Values{"p": {"counters"}}, 2},
		{full, "directory", url.Values{"p": {"counters"}}, 0},
		{full, "sizes", nil, 3},
		{full, "sizes", url.Values{"p": {"counters"}}, 2},
		{full, "sets", nil, 3},
		{full, "tenants", url.Values{"p": {"tenants"}}, 3},
		{full, "tenant", url.Values{"p": {"tenants", "tenant-1"}}, 2},
		{full, "types", nil, 3},
		{full, "schema", counters, 5},
		{full, "schema", orders(), 20},
		{full, "history", counters, 1},
		{full, "records", orders(), 20},
		{full, "record", orders("id", firstOrder), 20},
		{full, "indexes", orders(), 20},
		{full, "metrics", nil, 2},
		{full, "jobs", nil, 3},
	} {
		var answer any
		if status := c.site.get(c.path, c.q, &answer); status != http.StatusOK {
			t.Errorf("%s?%s answers %d", c.path, c.q.Encode(), status)
		}
		if lists := countLists(t, c.path+"?"+c.q.Encode(), "", answer); lists < c.lists {
			t.Errorf("%s?%s has %d lists, want %d: %v", c.path, c.q.Encode(), lists, c.lists, answer)
		}
	}
}

// releaseLease acquires a lease as a program does that makes an id, and releases it as it ends.
func releaseLease(t *testing.T, engine kv.Database) {
	t.Helper()
	leases, err := leasefdb.New(engine, leasefdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	granted, err := leases.Acquire(t.Context(), idgen.AcquireRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range granted {
		if err := leases.Release(t.Context(), l.Release("default", l.Created, time.UnixMilli(l.Created))); err != nil {
			t.Fatal(err)
		}
	}
}

// countLists returns how many lists are in a value. A null that may be one is an error.
func countLists(t *testing.T, where, name string, value any) (n int) {
	t.Helper()
	switch v := value.(type) {
	case nil:
		if !mayBeNull[name] {
			t.Errorf("%s: null", where)
		}
	case []any:
		n++
		for _, element := range v {
			n += countLists(t, where+"[]", "", element)
		}
	case map[string]any:
		for name, member := range v {
			n += countLists(t, where+"."+name, name, member)
		}
	}
	return n
}

func dump(t *testing.T, db *persistable.DB) []string {
	t.Helper()
	lines, err := contents.Of(t.Context(), db.Engine(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// awaitJob waits until the last job of a kind has ended, and returns its result.
func (s *site) awaitJob(kind string) (r struct {
	Error  string
	Result report
},
) {
	s.Helper()
	late := time.After(generous)
	for {
		var all struct {
			Jobs []struct {
				Kind, Error string
				Ended       *time.Time
				Result      report
			}
		}
		s.get("jobs", nil, &all)
		for _, j := range slices.Backward(all.Jobs) {
			if j.Kind == kind && j.Ended != nil {
				r.Error, r.Result = j.Error, j.Result
				return r
			}
		}
		select {
		case <-late:
			s.Fatal("the job did not end")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestPages reads a store page by page, forward and backward: each record comes once, and each
// page leads back to the one before.
func TestPages(t *testing.T) {
	s := start(t, Options{})
	type page struct {
		Rows           []row
		Next, Previous string
	}
	read := func(token, reverse string) (p page) {
		if status := s.get("records", orders("limit", "7", "token", token, "reverse", reverse), &p); status != http.StatusOK {
			t.Fatalf("a page answers %d", status)
		}
		if len(p.Rows) > 7 {
			t.Fatalf("a page has %d records", len(p.Rows))
		}
		return p
	}
	for _, reverse := range []string{"", "1"} {
		var ids []string
		var before page
		for token := ""; ; {
			p := read(token, reverse)
			for _, r := range p.Rows {
				ids = append(ids, r.ID)
			}
			if (p.Previous != "") != (token != "") {
				t.Errorf("the page of the token %q has a page before it: %q", token, p.Previous)
			} else if token != "" && read(p.Previous, reverse).Rows[0].ID != before.Rows[0].ID {
				t.Error("the page before is another one")
			}
			if before, token = p, p.Next; token == "" {
				break
			}
		}
		if reverse != "" {
			slices.Reverse(ids)
		}
		if len(ids) != 24 || !slices.IsSorted(ids) || ids[0] != firstOrder {
			t.Errorf("the pages have %d ids: %v", len(ids), ids)
		}
	}
	for _, limit := range []string{"0", "501", "x", "-1"} {
		if status := s.get("records", orders("limit", limit), nil); status != http.StatusBadRequest {
			t.Errorf("limit %s answers %d", limit, status)
		}
	}
}

// TestRequestsThatCannotBe checks that each is refused with a reason, and none with a 500.
func TestRequestsThatCannotBe(t *testing.T) {
	s := start(t, Options{Write: true})
	var page struct{ Next string }
	s.get("records", orders("limit", "2"), &page)
	next := page.Next
	for name, c := range map[string]struct {
		path string
		q    url.Values
		want int
	}{
		"no directory":        {"directories", url.Values{"p": {"nowhere"}}, http.StatusNotFound},
		"no such directory":   {"directory", url.Values{"p": {"nowhere"}}, http.StatusNotFound},
		"no directory's path": {"directory", nil, http.StatusBadRequest},
		"no path":             {"records", url.Values{"type": {"Order"}}, http.StatusBadRequest},
		"no type":             {"records", url.Values{"p": {"tenants", "tenant-1", "orders"}, "type": {"Nothing"}}, http.StatusNotFound},
		"no store":            {"schema", url.Values{"p": {"tenants"}}, http.StatusNotFound},
		"no record":           {"record", orders("id", "1"), http.StatusNotFound},
		"no id":               {"record", orders("id", "<script>"), http.StatusBadRequest},
		"no meaning":          {"decode", url.Values{"id": {"<b>"}}, http.StatusBadRequest},
		"no set":              {"tenants", nil, http.StatusBadRequest},
		"no tenant":           {"tenant", url.Values{"p": {"tenants", "nobody"}}, http.StatusNotFound},
		"no version":          {"changes", orders("since", "x"), http.StatusBadRequest},
		"no token":            {"records", orders("token", "x"), http.StatusBadRequest},
		"a token of another":  {"records", orders("token", next, "reverse", "1"), http.StatusBadRequest},
		"no service":          {"leases", url.Values{"service": {"/"}}, http.StatusBadRequest},
		"no feed":             {"changes", url.Values{"p": {"counters"}, "type": {"Counter"}}, http.StatusConflict},
		"a name of 64 kB":     {"directories", url.Values{"p": {strings.Repeat("a", 1<<16)}}, http.StatusBadRequest},
		"a page of elsewhere": {"nothing", nil, http.StatusNotFound},
	} {
		answer, err := s.client.Get(s.URL + "/api/" + c.path + "?" + c.q.Encode())
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body) // what is there counts
		answer.Body.Close()
		var reason struct{ Error string }
		if answer.StatusCode != c.want || c.path != "nothing" && (json.Unmarshal(body, &reason) != nil || reason.Error == "") {
			t.Errorf("%s: %d, want %d: %.200s", name, answer.StatusCode, c.want, body)
		}
		if bodyText := string(body); strings.Contains(answer.Header.Get("Content-Type"), "html") || strings.Contains(bodyText, "<script>") {
			t.Errorf("%s: the answer could be read as HTML: %.200s", name, bodyText)
		}
	}
}

// TestDelete deletes a record as the page showed it, and refuses to delete one that has changed.
func TestDelete(t *testing.T) {
	s := start(t, Options{Write: true})
	var shown struct{ Etag string }
	s.get("record", orders("id", firstOrder), &shown)
	body := map[string]any{"path": []string{"tenants", "tenant-1", "orders"}, "type": "Order", "id": firstOrder, "etag": shown.Etag}
	store := bazaar.OrderStoreOf(s.db, "tenant-1")
	if err := store.Update(t.Context(), 72623859790382856, func(o *bazaar.Order) error { o.Amount++; return nil }); err != nil {
		t.Fatal(err)
	}
	if status := s.post("record/delete", body, nil); status != http.StatusPreconditionFailed {
		t.Errorf("the deletion of a record that has changed answers %d", status)
	}
	s.get("record", orders("id", firstOrder), &shown)
	body["etag"] = shown.Etag
	if status := s.post("record/delete", body, nil); status != http.StatusOK {
		t.Errorf("the deletion answers %d", status)
	}
	if there, err := store.Exists(t.Context(), 72623859790382856); err != nil || there {
		t.Errorf("the record is there: %v, %v", there, err)
	}
	if found, err := store.Indexes().Verify(t.Context(), persistable.VerifyOptions{}); err != nil || len(found.Faults) > 0 {
		t.Errorf("the indexes have faults: %v, %v", found.Faults, err)
	}
}

// TestNumbersKeepAllDigits checks what a page gets of integers beyond 2⁵³.
func TestNumbersKeepAllDigits(t *testing.T) {
	cells, err := newCells([]byte(`{"A":9223372036854775807,"B":"x","C":null,"D":{"E":[1,2]},"F":1e400}`), 4)
	want := []cell{{Name: "A", Text: "9223", Kind: "number", Bytes: 19}, {Name: "B", Text: "x", Kind: "string"}, {Name: "C", Text: "null", Kind: "null"}, {Name: "D", Text: `{"E"`, Kind: "object", Bytes: 11}, {Name: "F", Text: "1e40", Kind: "number", Bytes: 5}}
	if err != nil || !slices.Equal(cells, want) {
		t.Errorf("%v, %v, want %v", cells, err, want)
	}
	if cells, _ := newCells([]byte(`{"A":9223372036854775807}`), 100); cells[0].Text != "9223372036854775807" {
		t.Errorf("%v", cells)
	}
	if cells, _ := newCells([]byte(`{"A":"äää"}`), 3); cells[0].Text != "ä" || cells[0].Bytes != 6 {
		t.Errorf("a string is cut within a character: %q", cells[0].Text)
	}
}

// TestNoPath checks that a change of nowhere is refused as one that cannot be.
func TestNoPath(t *testing.T) {
	s := start(t, Options{Write: true})
	for _, path := range []string{"record/create", "record/save", "record/delete", "indexes/build", "indexes/verify", "indexes/repair", "indexes/drop", "tenant/lock", "tenant/unlock", "tenant/remove"} {
		var answer struct{ Error string }
		if status := s.post(path, map[string]any{"path": []string{}}, &answer); status != http.StatusBadRequest || answer.Error == "" {
			t.Errorf("%s answers %d: %s", path, status, answer.Error)
		}
	}
}

// TestClosedEngine checks that a request after the end of the engine is told that nothing serves it.
func TestClosedEngine(t *testing.T) {
	if status := statusOf(fmt.Errorf("directory: %w", kv.ErrClosed)); status != http.StatusServiceUnavailable {
		t.Errorf("a closed engine answers %d", status)
	}
}

// TestBodyTooLarge checks that a body beyond the bound answers 413.
func TestBodyTooLarge(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"path": ["a", "b"]}`))
	r.Body = http.MaxBytesReader(w, r.Body, 8)
	if err := readBody(r, &storeRequest{}); statusOf(err) != http.StatusRequestEntityTooLarge {
		t.Errorf("%v answers %d", err, statusOf(err))
	}
}

func TestDecode(t *testing.T) {
	s := start(t, Options{})
	for id, want := range map[string]string{firstOrder: "kazahana", "1vSWGZmRFYg": "external", "01ARZ3NDEKTSV4RRFFQ69G5FAV": "ULID", "018f3b1c-5a00-7c3e-8a1b-2f4d6e8091a2": "UUID"} {
		var d decodedID
		if status := s.get("decode", url.Values{"id": {id}}, &d); status != http.StatusOK || d.Form != want || d.Time == nil {
			t.Errorf("%s: %d %v", id, status, d)
		}
	}
}

func TestSamplerKeepsTheLast(t *testing.T) {
	var s sampler
	for i := range maxSamples + 3 {
		s.add(sample{Commits: int64(i)})
	}
	all := s.all()
	if len(all) != maxSamples || all[0].Commits != 3 || all[maxSamples-1].Commits != maxSamples+2 {
		t.Errorf("%d samples, from %d to %d", len(all), all[0].Commits, all[len(all)-1].Commits)
	}
}

// TestSave saves a record as the page sends it, and refuses what cannot be saved.
func TestSave(t *testing.T) {
	s := start(t, Options{Write: true})
	var shown struct{ Etag, Text string }
	s.get("record", orders("id", firstOrder, "full", "1"), &shown)
	save := func(etag, record string) (int, string) {
		var answer struct{ Error string }
		status := s.post("record/save", map[string]any{"path": []string{"tenants", "tenant-1", "orders"}, "type": "Order", "id": firstOrder, "etag": etag, "record": record}, &answer)
		return status, answer.Error
	}
	next := strings.Replace(shown.Text, `"Amount": -300`, `"Amount": 9007199254740993`, 1)
	for name, c := range map[string]struct {
		etag, record string
		want         int
	}{
		"another state":  {"00", next, http.StatusPreconditionFailed},
		"no JSON":        {shown.Etag, "{", http.StatusBadRequest},
		"another kind":   {shown.Etag, strings.Replace(shown.Text, `"Amount": -300`, `"Amount": "much"`, 1), http.StatusBadRequest},
		"another id":     {shown.Etag, strings.Replace(shown.Text, firstOrder, "72623859790382857", 1), http.StatusBadRequest},
		"another tenant": {shown.Etag, strings.Replace(shown.Text, "tenant-1", "tenant-2", 1), http.StatusBadRequest},
		"a long index":   {shown.Etag, strings.Replace(shown.Text, "A-1001", strings.Repeat("9", 20_000), 1), http.StatusBadRequest},
		"10 MB":          {shown.Etag, strings.Replace(shown.Text, `"Street": "`, `"Street": "`+strings.Repeat("x", 10_000_000), 1), http.StatusRequestEntityTooLarge},
		"a taken number": {shown.Etag, strings.Replace(shown.Text, "A-1001", "A-1002", 1), http.StatusConflict},
	} {
		if status, reason := save(c.etag, c.record); status != c.want || reason == "" {
			t.Errorf("%s: %d, want %d: %s", name, status, c.want, reason)
		}
	}
	if status, reason := save(shown.Etag, next); status != http.StatusOK {
		t.Fatalf("%d: %s", status, reason)
	}
	store := bazaar.OrderStoreOf(s.db, "tenant-1")
	if o, err := store.Get(t.Context(), 72623859790382856); err != nil || o.Amount != 9007199254740993 || o.Address.City != "Köln" {
		t.Errorf("%v, %v", o, err)
	}
	if found, err := store.Indexes().Verify(t.Context(), persistable.VerifyOptions{}); err != nil || len(found.Faults) > 0 {
		t.Errorf("the indexes have faults: %v, %v", found.Faults, err)
	}
	if status, _ := save(shown.Etag, next); status != http.StatusPreconditionFailed {
		t.Errorf("a save of an older state answers %d", status)
	}
}
