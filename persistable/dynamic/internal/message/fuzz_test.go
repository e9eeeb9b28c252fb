// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/message"
)

const node = `type Node
	id int
	directory "nodes"
	field 1 ID id
	field 2 Count int8
	field 3 Big uint64 default 7
	field 4 Rate float
	field 5 Name *string
	field 6 Key bytes[16]
	field 7 At time
	field 8 Took duration
	field 9 Next *message(Node)
	field 10 Nodes []message(Node)
	field 11 Numbers []int32
	field 12 ByID map[id]bytes
	field 13 Inner message(Inner)
	field 14 Names map[string]message(Inner)
message Inner
	field 1 Done bool
	field 2 Hash bytes[3]
`

func nodeType(t testing.TB) *message.Type {
	t.Helper()
	s, err := schema.ParseType(node)
	if err != nil {
		t.Fatal(err)
	}
	typ, err := message.NewType(s)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// FuzzParseJSON: any text is refused with a line and a reason, or is a record that comes back
// unchanged from its JSON and from its bytes.
func FuzzParseJSON(f *testing.F) {
	typ := nodeType(f)
	for _, text := range []string{
		`{}`, `{"ID":"1","Count":-128,"Big":18446744073709551615,"Rate":"NaN","Name":null}`, `{"Name":"a\u00e9\ud83d\ude00","Key":"019ca8a0-3ee7-0000-0000-000000000067"}`,
		`{"At":"@-62135596801.5","Took":"-1h0.5s","Next":{"Next":{}},"Nodes":[{},{"Count":1}]}`, `{"Numbers":[1,2],"ByID":{"7":"AAEC"},"Inner":{"Done":true,"Hash":"AAEC"},"Names":{"x":{}}}`,
		`{"Name":"\ud800"}`, `{"ID":1}{`, `[`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := typ.ParseJSON(text)
		if err != nil {
			var fault *message.Error
			if !errors.As(err, &fault) || fault.Line < 1 || fault.Reason == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		payload, err := m.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := typ.ParseJSON(m.AppendJSON(nil))
		if err != nil {
			t.Fatalf("%s: %v", m.AppendJSON(nil), err)
		}
		if bytes2, err := again.Append(nil); err != nil || !bytes.Equal(bytes2, payload) {
			t.Fatalf("%s: %x, then %x, %v", text, payload, bytes2, err)
		}
		if stored, err := typ.Decode(payload, nil); err != nil {
			t.Fatal(err)
		} else if bytes3, err := stored.Append(nil); err != nil || !bytes.Equal(bytes3, payload) {
			t.Fatalf("%x is read as %x, %v", payload, bytes3, err)
		}
	})
}
