// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/idgen/external"
)

var testCodec = idgen.Must(external.New(external.Options{Mode: external.Plain}))

type plainIDs struct{}

func (plainIDs) Codec() *external.Codec { return testCodec }

type noIDs struct{}

func (noIDs) Codec() *external.Codec { return nil }

type view struct {
	ID    external.ID[plainIDs]            `json:"id"`
	Next  external.ID[plainIDs]            `json:"next,omitzero"`
	Names map[external.ID[plainIDs]]string `json:"names,omitempty"`
}

func TestIDJSON(t *testing.T) {
	in := view{ID: 0x0123456789ABCDEF, Names: map[external.ID[plainIDs]]string{0x0123456789ABCDEF: "a"}}
	text, err := json.Marshal(in)
	if want := `{"id":"ASNFZ4mrze8","names":{"ASNFZ4mrze8":"a"}}`; string(text) != want || err != nil {
		t.Fatalf("%s, %v; want %s", text, err, want)
	}
	var out view
	if err := json.Unmarshal(text, &out); err != nil || out.ID != in.ID || out.Next != 0 || out.Names[in.ID] != "a" {
		t.Errorf("%+v, %v", out, err)
	}
	if in.ID.String() != "ASNFZ4mrze8" {
		t.Errorf("String is %q", in.ID.String())
	}
}

func TestIDRefuses(t *testing.T) {
	for _, id := range []external.ID[plainIDs]{0, -1} {
		if text, err := json.Marshal(id); !errors.Is(err, idgen.ErrInvalid) {
			t.Errorf("%d is written %s, %v", int64(id), text, err)
		}
		if id.String() != "external: none" {
			t.Errorf("%d is %q", int64(id), id.String())
		}
	}
	for _, text := range []string{`""`, `"211469771380744768"`, `5`, `"ASNFZ4mrze9"`} {
		id := external.ID[plainIDs](7)
		if err := json.Unmarshal([]byte(text), &id); err == nil || id != 7 {
			t.Errorf("%s is read as %d, %v", text, int64(id), err)
		}
	}
	var none external.ID[noIDs] = 5
	if _, err := none.MarshalText(); err == nil {
		t.Error("written without a codec")
	}
	if err := none.UnmarshalText([]byte("ASNFZ4mrze8")); err == nil {
		t.Error("read without a codec")
	}
}
