// SPDX-License-Identifier: Apache-2.0

package stored_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/stored"
	"github.com/kazahana-db/kazahana/tuple"
)

const schemaText = "type T\norigin example.com/t\nid int\ndirectory \"t\"\nfield 1 ID id\n"

// pack packs a tuple.
func pack(t *testing.T, elements ...any) []byte {
	t.Helper()
	b, err := tuple.Tuple(elements).Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDecodeHeader reads a header, and says of damaged ones what is wrong.
func TestDecodeHeader(t *testing.T) {
	indexes := tuple.Tuple{tuple.Tuple{"T_A", "A:int", 2}, tuple.Tuple{"T_count_A~recount", "A:int:kind=count", 0}}
	h, err := stored.DecodeHeader(pack(t, 1, indexes, schemaText))
	if err != nil || strings.Join(strings.Fields(h.Schema), " ") != strings.Join(strings.Fields(schemaText), " ") || len(h.Indexes) != 2 || h.Indexes[0] != (stored.Index{KeyName: "T_A", Layout: "A:int", State: index.Readable}) {
		t.Errorf("%+v, %v", h, err)
	}
	for want, value := range map[string][]byte{
		"damaged":         {0xff},
		"of format 3":     pack(t, 3, "v0.9.0", indexes, schemaText),
		"schema cannot":   pack(t, 1, indexes, "type T\nfield zero\n"),
		"header is dam":   pack(t, 1, tuple.Tuple{"T_A"}, schemaText),
		"it is not text":  pack(t, 1, indexes, 7),
		"the store's hea": pack(t, 1, indexes, schemaText, 4),
	} {
		_, err := stored.DecodeHeader(value)
		var wrong *stored.Error
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, want) || wrong.Remedy == "" {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// TestDecodeWork reads the work list of a build.
func TestDecodeWork(t *testing.T) {
	names, err := stored.DecodeWorkList(pack(t, 1, tuple.Tuple{"T_A", "A:int"}))
	if err != nil || len(names) != 1 || names[0] != "T_A" {
		t.Errorf("%v, %v", names, err)
	}
	r, err := stored.DecodeWorkRange(nil, pack(t, []byte{0xff}, []byte{0xff}, []byte("worker"), 3, 0, 0, 1, 0))
	if err != nil || !r.Done || r.Beats != 3 || string(r.Worker) != "worker" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := stored.DecodeWorkRange(nil, []byte{1}); err == nil {
		t.Error("a damaged range was read")
	}
	if _, err := stored.DecodeWorkList([]byte{1}); err == nil {
		t.Error("a damaged list was read")
	}
}

// TestDecodeTenant reads the settings of a tenant.
func TestDecodeTenant(t *testing.T) {
	got, err := stored.DecodeTenant(pack(t, 1, "id", "export", 100, 0, 1))
	if want := (stored.Tenant{Locked: true, Reason: "export", Records: 100, Quota: true, Counting: true}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := stored.DecodeTenant([]byte{1}); err == nil {
		t.Error("damaged settings were read")
	}
}

// TestDecodeRecord reads the header of a record.
func TestDecodeRecord(t *testing.T) {
	chunks, payload, err := stored.DecodeRecord([]byte{1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 'p'})
	if err != nil || chunks != 2 || string(payload) != "p" {
		t.Errorf("%d, %q, %v", chunks, payload, err)
	}
	if _, _, err := stored.DecodeRecord([]byte{2}); err == nil {
		t.Error("a newer record was read")
	}
}
