// SPDX-License-Identifier: Apache-2.0

package user

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"
)

// sample is the record of the codec comparison.
var sample = User{
	ID: 123456789012345678, Email: "alice.adams@example.com", Name: "Alice Adams", Category: "premium",
	CreatedAt: time.Date(2026, 3, 1, 9, 30, 15, 123456789, time.UTC),
}

// plain is User without marker fields, for codecs that reflect.
type plain struct {
	ID                    int64
	Email, Name, Category string
	CreatedAt             time.Time
}

var plainSample = plain{int64(sample.ID), sample.Email, sample.Name, sample.Category, sample.CreatedAt}

func TestSameBytes(t *testing.T) {
	generated, err := appendUser(nil, &sample)
	if err != nil {
		t.Fatal(err)
	}
	if byHand := AppendByHand(nil, &sample); !bytes.Equal(byHand, generated) {
		t.Fatalf("by hand   %x\ngenerated %x", byHand, generated)
	}
	var a, b User
	if err := decodeUser(generated, &a, nil); err != nil {
		t.Fatal(err)
	}
	if err := DecodeByHand(generated, &b); err != nil {
		t.Fatal(err)
	}
	ignore := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == "._" }, cmp.Ignore())
	if diff := cmp.Diff(sample, a, ignore) + cmp.Diff(sample, b, ignore); diff != "" {
		t.Error(diff)
	}
	fmt.Println("bytes of the record:", len(generated))
}

func BenchmarkEncode(b *testing.B) {
	buf := make([]byte, 0, 1024)
	b.Run("generated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := appendUser(buf, &sample); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protowire", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			AppendByHand(buf, &sample)
		}
	})
	b.Run("json", func(b *testing.B) { marshal(b, json.Marshal) })
	b.Run("msgpack", func(b *testing.B) { marshal(b, msgpack.Marshal) })
	b.Run("cbor", func(b *testing.B) { marshal(b, cbor.Marshal) })
}

func marshal(b *testing.B, encode func(any) ([]byte, error)) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encode(&plainSample); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	record := AppendByHand(nil, &sample)
	b.Run("generated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v User
			if err := decodeUser(record, &v, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protowire", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v User
			if err := DecodeByHand(record, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json", func(b *testing.B) { unmarshal(b, json.Marshal, json.Unmarshal) })
	b.Run("msgpack", func(b *testing.B) { unmarshal(b, msgpack.Marshal, msgpack.Unmarshal) })
	b.Run("cbor", func(b *testing.B) { unmarshal(b, cbor.Marshal, cbor.Unmarshal) })
}

func unmarshal(b *testing.B, encode func(any) ([]byte, error), decode func([]byte, any) error) {
	record, err := encode(&plainSample)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var v plain
		if err := decode(record, &v); err != nil {
			b.Fatal(err)
		}
	}
}
