// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

// TestParseRecordRefuses: what a record cannot have is an error that names the member, its
// line and what is wanted.
func TestParseRecordRefuses(t *testing.T) {
	s := open(t, seeded(t), "tenants", "tenant-1", "orders")
	for _, c := range []struct{ text, member, reason string }{
		{`{"Number":`, "Number", "the text ends"},
		{`{"Number":"A"} {}`, "", "something follows"},
		{`[]`, "", "it is a list; wanted is an object"},
		{`{"Number":"A",}`, "", "not JSON"},
		{`{"Numbr":"A"}`, "Numbr", "did you mean Number?"},
		{`{"Number":"A","Number":"B"}`, "Number", "there twice"},
		{`{"Number":7}`, "Number", "it is the number 7; wanted is a text"},
		{`{"Number":null}`, "Number", "cannot be null"},
		{`{"Number":"\ud800"}`, "Number", "half of a character"},
		{"{\"Number\":\"\xff\"}", "", "not valid UTF-8"},
		{`{"Units":-1}`, "Units", "from 0 to 4294967295"},
		{`{"Units":4294967296}`, "Units", "from 0 to 4294967295"},
		{`{"Amount":1.5}`, "Amount", "an integer from -9223372036854775808 to 9223372036854775807"},
		{`{"Done":"true"}`, "Done", "true or false"},
		{`{"CreatedAt":"yesterday"}`, "CreatedAt", "2026-01-31T12:00:00.5Z"},
		{`{"Took":"5"}`, "Took", "1h30m"},
		{`{"Hash":"AAAA"}`, "Hash", "4 bytes in base64"},
		{`{"Key":"123"}`, "Key", "a UUID or a ULID"},
		{`{"Key":"--345678-1234-1234-1234-1234567890--"}`, "Key", "a UUID or a ULID"},
		{`{"Key":"------------------------------------"}`, "Key", "a UUID or a ULID"},
		{`{"ID":"x"}`, "ID", "decimal digits"},
		{`{"Tags":"a"}`, "Tags", "wanted is a list"},
		{`{"Tags":["a",null]}`, "Tags[1]", "it is null"},
		{`{"Address":{"Zip":5}}`, "Address.Zip", "it is the number 5"},
		{`{"Lines":[{},{"Price":"x"}]}`, "Lines[1].Price", "an integer"},
		{`{"Notes":{"a":"1","a":"2"}}`, "Notes", "the key a is there twice"},
		{`{"Notes":{"a":{}}}`, "Notes[a]", "it is an object; wanted is a text"},
	} {
		_, err := s.ParseRecord([]byte("\n\n" + c.text))
		var fault *dynamic.ValueError
		if !errors.As(err, &fault) || fault.Member != c.member || !strings.Contains(fault.Reason, c.reason) || fault.Line != 3 {
			t.Errorf("%s: %v; want %s: %s", c.text, err, c.member, c.reason)
		}
	}
}

// TestParseRecordFills: missing members have the values that records without them have.
func TestParseRecordFills(t *testing.T) {
	db := seeded(t)
	r := must[*dynamic.Record](t)(open(t, db, "tenants", "tenant-2", "accounts").ParseRecord([]byte(`{"Email":"a@b"}`)))
	const want = `{"ID":"","TenantID":"tenant-2","Email":"a@b","Level":0,"Name":null,"Plan":"free"}`
	if got := must[[]byte](t)(json.Marshal(r)); string(got) != want || !r.ID().IsZero() {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestIDs: ids of all kinds as text, and back.
func TestIDs(t *testing.T) {
	db := seeded(t)
	for _, path := range [][]string{{"counters"}, {"events"}, {"settings"}, {"tenants", "tenant-1", "accounts"}} {
		s := open(t, db, path...)
		for r, err := range s.Scan().All(ctx) {
			check(t, err)
			if id, err := s.ParseID(r.ID().String()); id != r.ID() || err != nil {
				t.Errorf("%v: %s becomes %s, %v", path, r.ID(), id, err)
			}
		}
	}
	events := open(t, db, "events")
	if a, b := must[dynamic.ID](t)(events.ParseID("019ca8a0-3ee7-0000-0000-000000000067")), must[dynamic.ID](t)(events.ParseID("01KJMA0FQ70000000000000037")); a != b {
		t.Errorf("%v, %v", a, b)
	}
	if _, err := open(t, db, "counters").ParseID("x"); err == nil || !strings.Contains(err.Error(), "an integer from") {
		t.Error(err)
	}
}

// TestMadeIDs: Create makes ids where the code of persistgen does.
func TestMadeIDs(t *testing.T) {
	db := seeded(t)
	for _, c := range []struct {
		path []string
		text string
		made bool
	}{
		{[]string{"tenants", "tenant-1", "orders"}, `{"Number":"x"}`, true},
		{[]string{"tenants", "tenant-1", "accounts"}, `{"Email":"x"}`, true},
		{[]string{"events"}, `{}`, true},
		{[]string{"counters"}, `{}`, false},
	} {
		s := open(t, db, c.path...)
		r := must[*dynamic.Record](t)(s.ParseRecord([]byte(c.text)))
		err := s.Create(ctx, r)
		if s.Schema().MadeIDs != c.made || (err == nil) != c.made || !c.made && !errors.Is(err, persistable.ErrNoID) {
			t.Errorf("%v: %v", c.path, err)
		}
		if c.made {
			must[*dynamic.Record](t)(s.Get(ctx, r.ID()))
		}
	}
}
