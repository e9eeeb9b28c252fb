// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestRecordChangesAfterLoss: a save and a removal that lost their acknowledgement answer that
// they are done, each once; a second save of the same state answers that the record has changed.
func TestRecordChangesAfterLoss(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		e := &enginetest.Lossy{Database: openMemory(t)}
		s := startOn(t, e, Options{Write: true})
		var shown struct{ Etag, Text string }
		s.get("record", orders("id", firstOrder, "full", "1"), &shown)
		body := map[string]any{"path": []string{"tenants", "tenant-1", "orders"}, "type": "Order", "id": firstOrder, "etag": shown.Etag}
		body["record"] = strings.Replace(shown.Text, `"Amount": -300`, `"Amount": 77`, 1)

		var answer struct{ Error string }
		e.Lose(dropped, nil)
		status := s.post("record/save", body, &answer)
		o, err := bazaar.OrderStoreOf(s.db, "tenant-1").Get(t.Context(), 72623859790382856)
		if status != http.StatusOK || err != nil || o.Amount != 77 {
			t.Errorf("dropped %v: the save answers %d %s: %v, %v", dropped, status, answer.Error, o, err)
		}
		if status := s.post("record/save", body, &answer); status != http.StatusPreconditionFailed {
			t.Errorf("dropped %v: a save of a former state answers %d", dropped, status)
		}
		s.get("record", orders("id", firstOrder, "full", "1"), &shown)
		body["etag"] = shown.Etag
		e.Lose(dropped, nil)
		status = s.post("record/delete", body, &answer)
		_, err = bazaar.OrderStoreOf(s.db, "tenant-1").Get(t.Context(), 72623859790382856)
		if status != http.StatusOK || !errors.Is(err, persistable.ErrNotFound) {
			t.Errorf("dropped %v: the removal answers %d %s: %v", dropped, status, answer.Error, err)
		}
	}
}

// TestCreate stores a new record, to which the library gives an id, and refuses those that cannot be.
func TestCreate(t *testing.T) {
	s := start(t, Options{Write: true})
	create := func(record string) (status int, id, reason string) {
		var answer struct{ ID, Error string }
		status = s.post("record/create", map[string]any{"path": []string{"tenants", "tenant-1", "orders"}, "type": "Order", "record": record}, &answer)
		return status, answer.ID, answer.Error
	}
	status, id, reason := create(`{"Number": "N-1", "Country": "IS", "Amount": 9007199254740993}`)
	if status != http.StatusOK || id == "" || id == "0" {
		t.Fatalf("%d %q: %s", status, id, reason)
	}
	var shown struct{ Text string }
	if status := s.get("record", orders("id", id, "full", "1"), &shown); status != http.StatusOK || !strings.Contains(shown.Text, `"Amount": 9007199254740993`) || !strings.Contains(shown.Text, `"TenantID": "tenant-1"`) {
		t.Errorf("%d %s", status, shown.Text)
	}
	for name, c := range map[string]struct {
		record string
		want   int
	}{
		"a taken number": {`{"Number": "N-1"}`, http.StatusConflict},
		"a taken id":     {`{"ID": "` + id + `", "Number": "N-2"}`, http.StatusConflict},
		"no JSON":        {`{`, http.StatusBadRequest},
		"another field":  {`{"Colour": "red"}`, http.StatusBadRequest},
		"another tenant": {`{"TenantID": "tenant-2", "Number": "N-3"}`, http.StatusBadRequest},
	} {
		if status, _, reason := create(c.record); status != c.want || reason == "" {
			t.Errorf("%s: %d, want %d: %s", name, status, c.want, reason)
		}
	}
}

// TestExport compares files with what is stored. In CSV a text that begins as a formula does is text to a spreadsheet, and a
// number is the number.
func TestExport(t *testing.T) {
	s := start(t, Options{})
	store := bazaar.OrderStoreOf(s.db, "tenant-1")
	if err := store.Update(t.Context(), 72623859790382856, func(o *bazaar.Order) error {
		o.Country, o.Number = "=HYPERLINK(\"//x\")", strings.Repeat("A", 2*shownInTable)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	export := func(params url.Values) (*http.Response, string) {
		answer, err := s.client.Get(s.URL + "/api/records/export?" + params.Encode())
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer, string(text)
	}
	answer, text := export(orders("format", "csv", "limit", "2", "column", "Amount", "column", "Number", "column", "Country"))
	want := "Number,Country,Amount\r\n" + strings.Repeat("A", 2*shownInTable) + `,"'=HYPERLINK(""//x"")",-300` + "\r\nA-1002,"
	if !strings.HasPrefix(text, want) || strings.Count(text, "\n") != 3 {
		t.Errorf("%s\nwant %s", text, want)
	}
	if h := answer.Header; h.Get("Content-Disposition") != "attachment; filename*=UTF-8''Order.csv" || !strings.HasPrefix(h.Get("Content-Type"), "text/csv") {
		t.Errorf("%v", h)
	}
	if _, text = export(orders("format", "jsonl", "limit", "1", "column", "Country", "column", "Amount")); text != `{"Country":"=HYPERLINK(\"//x\")","Amount":-300}`+"\n" {
		t.Errorf("%s", text)
	}
	var shown struct{ Text string }
	s.get("record", orders("id", firstOrder, "full", "1"), &shown)
	if _, text = export(orders("format", "jsonl", "limit", "1")); strings.Join(strings.Fields(text), "") != strings.Join(strings.Fields(shown.Text), "") {
		t.Errorf("%s\nwant %s", text, shown.Text)
	}
	for name, params := range map[string]url.Values{"no format": orders(), "no column": orders("format", "csv", "column", "x"), "no condition": orders("format", "csv", "where", "Status =")} {
		if answer, text := export(params); answer.StatusCode != http.StatusBadRequest || answer.Header.Get("Content-Disposition") != "" {
			t.Errorf("%s: %d %s", name, answer.StatusCode, text)
		}
	}
	for c, want := range map[cell]string{
		{Text: "-1", Kind: "number"}: "-1", {Text: "-1", Kind: "string"}: "'-1", {Text: "+x", Kind: "string"}: "'+x", {Text: "@x", Kind: "string"}: "'@x",
		{Text: "\t=x", Kind: "string"}: "'\t=x", {Text: "a=b", Kind: "string"}: "a=b", {Text: "＝x", Kind: "string"}: "'＝x", {Text: "null", Kind: "null"}: "", {Text: "", Kind: "string"}: "",
	} {
		if got := plainText(c); got != want {
			t.Errorf("%v: %q, want %q", c, got, want)
		}
	}
}
