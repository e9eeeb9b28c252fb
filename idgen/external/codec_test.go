// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/idgen/external"
)

var (
	key0 = []byte("the first master key, of 32 byte")
	key1 = []byte("the second master key, 32 bytes.")
)

func codec(t testing.TB, opts external.Options) *external.Codec {
	t.Helper()
	c, err := external.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// codecs are one of each kind.
func codecs(t testing.TB) map[string]*external.Codec {
	return map[string]*external.Codec{
		"plain":    codec(t, external.Options{Mode: external.Plain}),
		"scramble": codec(t, external.Options{}),
		"speck":    codec(t, external.Options{Mode: external.Keyed, Keys: map[int][]byte{0: key0}}),
		"xtea":     codec(t, external.Options{Mode: external.Keyed, Cipher: external.XTEA, Keys: map[int][]byte{3: key0}, Current: 3}),
	}
}

// TestSpecification holds the example of the specification, section 8.5.
func TestSpecification(t *testing.T) {
	c := codecs(t)["plain"]
	if got := c.Encode(0x0123456789ABCDEF); got != "ASNFZ4mrze8" {
		t.Errorf("Encode: %q", got)
	}
	if id, err := c.Decode("ASNFZ4mrze8"); id != 0x0123456789ABCDEF || err != nil {
		t.Errorf("Decode: %#x, %v", id, err)
	}
}

// TestFormsStay pins what must never change once it is in the world.
func TestFormsStay(t *testing.T) {
	const id idgen.ID = 211469771380744768
	want := map[string]string{"plain": "Au9Kovvh4kA", "scramble": "OgB0XY30n3U", "speck": "hx6YzW03pAo", "xtea": "0XfwdWCeXHn"}
	for name, c := range codecs(t) {
		if got := c.For("order").Encode(id); got != want[name] {
			t.Errorf("%s: %q, want %q", name, got, want[name])
		}
	}
}

func TestRoundTrip(t *testing.T) {
	all := codecs(t)
	rapid.Check(t, func(t *rapid.T) {
		id := idgen.ID(rapid.Int64Min(1).Draw(t, "id"))
		for name, c := range all {
			text := c.Encode(id)
			if got, err := c.Decode(text); got != id || err != nil || len(text) != external.Len {
				t.Errorf("%s: %d is %q, which is %d, %v", name, id, text, got, err)
			}
			if got := c.AppendEncode([]byte("x"), id); string(got) != "x"+text {
				t.Errorf("%s: AppendEncode %q, Encode %q", name, got, text)
			}
			if got, err := c.DecodeBytes([]byte(text)); got != id || err != nil {
				t.Errorf("%s: DecodeBytes %d, %v", name, got, err)
			}
		}
	})
}

// TestBase64 checks the spelling against encoding/base64, version bits zero.
func TestBase64(t *testing.T) {
	c := codecs(t)["plain"]
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "v")
		want := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, v))
		if got := c.Encode(idgen.ID(v)); got != want {
			t.Errorf("%#x is %q, want %q", v, got, want)
		}
	})
}

// TestOneSpelling tries, for texts that decode, all other last characters: of
// the four that base64 libraries take for the same bytes, one alone is right.
func TestOneSpelling(t *testing.T) {
	for name, c := range codecs(t) {
		text := c.Encode(211469771380744768)
		for last := range 256 {
			other := text[:10] + string([]byte{byte(last)})
			id, err := c.Decode(other)
			if err == nil && c.Encode(id) != other {
				t.Errorf("%s: %q is taken for %d, which is %q", name, other, id, c.Encode(id))
			}
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	all := codecs(t)
	future := codec(t, external.Options{MaxAhead: time.Hour, Now: func() time.Time { return time.UnixMilli(idgen.DefaultCustomEpoch) }})
	narrow := codec(t, external.Options{Mode: external.Plain, Layout: idgen.Layout{ReserveBits: 2, TimestampBits: 40, MachineBits: 14, SequenceBits: 8}})
	for _, test := range []struct {
		name   string
		codec  *external.Codec
		text   string
		reason error
	}{
		{"empty", all["plain"], "", external.ErrSpelling},
		{"short", all["plain"], "ASNFZ4mrze", external.ErrSpelling},
		{"long", all["plain"], "ASNFZ4mrze8A", external.ErrSpelling},
		{"padded", all["plain"], "ASNFZ4mrze8=", external.ErrSpelling},
		{"very long", all["plain"], strings.Repeat("A", 1<<16), external.ErrSpelling},
		{"standard alphabet", all["plain"], "A+NFZ4mrze8", external.ErrSpelling},
		{"line break", all["plain"], "ASNFZ4mrze\n", external.ErrSpelling},
		{"not ASCII", all["plain"], "ASNFZ4mrzé", external.ErrSpelling},
		{"stray bits", all["plain"], "ASNFZ4mrze9", external.ErrSpelling},
		{"stray bits, scrambled", all["scramble"], "ASNFZ4mrze9", external.ErrSpelling},
		{"zero", all["plain"], "AAAAAAAAAAA", external.ErrNoID},
		{"zero, scrambled", all["scramble"], all["scramble"].Encode(0), external.ErrNoID},
		{"negative", all["plain"], all["plain"].Encode(-1), external.ErrNoID},
		{"negative, encrypted", all["speck"], all["speck"].Encode(-1), external.ErrNoID},
		{"second reserve bit", narrow, narrow.Encode(1 << 62), external.ErrNoID},
		{"unknown key", all["speck"], all["xtea"].Encode(77), external.ErrKeyVersion},
		{"future", future, future.Encode(1 << 62), external.ErrFuture},
	} {
		id, err := test.codec.Decode(test.text)
		if id != 0 || !errors.Is(err, test.reason) || !errors.Is(err, idgen.ErrInvalid) {
			t.Errorf("%s: %d, %v; want %v", test.name, id, err, test.reason)
			continue
		}
		if quoted := fmt.Sprintf("external: invalid external id %q: ", test.text[:min(len(test.text), 32)]); !strings.HasPrefix(err.Error(), quoted) {
			t.Errorf("%s: the error is %v, want the prefix %s", test.name, err, quoted)
		}
	}
}

// TestMaxAhead checks both sides of the limit.
func TestMaxAhead(t *testing.T) {
	now := time.UnixMilli(idgen.DefaultCustomEpoch + 1e10)
	c := codec(t, external.Options{MaxAhead: time.Minute, Now: func() time.Time { return now }})
	for ahead, want := range map[time.Duration]error{
		-time.Hour:                     nil,
		time.Minute:                    nil,
		time.Minute + time.Millisecond: external.ErrFuture,
	} {
		id, err := idgen.DefaultLayout().At(now.Add(ahead))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Decode(c.Encode(id)); !errors.Is(err, want) || (want == nil && got != id) {
			t.Errorf("%v ahead: %d, %v; want %v", ahead, got, err, want)
		}
	}
}

// TestRotation goes from one key to the next.
func TestRotation(t *testing.T) {
	const id idgen.ID = 211469771380744768
	old := codec(t, external.Options{Mode: external.Keyed, Keys: map[int][]byte{0: key0}})
	ready := codec(t, external.Options{Mode: external.Keyed, Keys: map[int][]byte{0: key0, 1: key1}})
	current := codec(t, external.Options{Mode: external.Keyed, Keys: map[int][]byte{0: key0, 1: key1}, Current: 1})
	after := codec(t, external.Options{Mode: external.Keyed, Keys: map[int][]byte{1: key1}, Current: 1})
	if old.Encode(id) != ready.Encode(id) || old.Encode(id) == current.Encode(id) || current.Encode(id) != after.Encode(id) {
		t.Error("Current must decide which key Encode uses, and nothing else")
	}
	for _, text := range []string{old.Encode(id), current.Encode(id)} {
		for _, c := range []*external.Codec{ready, current} {
			if got, err := c.Decode(text); got != id || err != nil {
				t.Errorf("%q: %d, %v", text, got, err)
			}
		}
	}
	if _, err := after.Decode(old.Encode(id)); !errors.Is(err, external.ErrKeyVersion) {
		t.Errorf("with a key that was taken away: %v", err)
	}
}

// TestSubkeys checks that types, ciphers and masters all change the text, that a
// codec keeps its own copy of the key, and that For starts from the master key.
func TestSubkeys(t *testing.T) {
	const id idgen.ID = 211469771380744768
	master := bytes.Clone(key0)
	c := codec(t, external.Options{Mode: external.Keyed, Keys: map[int][]byte{0: master}})
	want := c.For("order").Encode(id)
	clear(master)
	if got := c.For("customer").For("order").Encode(id); got != want {
		t.Errorf("For after For and with the key overwritten: %q, want %q", got, want)
	}
	seen := map[string]string{}
	for name, c := range map[string]*external.Codec{
		"none": c, "order": c.For("order"), "customer": c.For("customer"),
		"xtea":      codec(t, external.Options{Mode: external.Keyed, Cipher: external.XTEA, Keys: map[int][]byte{0: key0}}).For("order"),
		"other key": codec(t, external.Options{Mode: external.Keyed, Keys: map[int][]byte{0: key1}}).For("order"),
		"scramble":  codec(t, external.Options{}).For("order"),
	} {
		text := c.Encode(id)
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s write %q both", name, other, text)
		}
		seen[text] = name
	}
}

func TestOptionsValidate(t *testing.T) {
	for name, test := range map[string]struct {
		opts external.Options
		want []string
	}{
		"zero value":     {external.Options{}, nil},
		"no key":         {external.Options{Mode: external.Keyed}, []string{"none of version 0"}},
		"not current":    {external.Options{Mode: external.Keyed, Keys: map[int][]byte{1: key1}}, []string{"none of version 0"}},
		"forgotten mode": {external.Options{Keys: map[int][]byte{0: key0}}, []string{"would not be encrypted"}},
		"many": {
			external.Options{Mode: external.Keyed, Cipher: 7, Keys: map[int][]byte{4: {1}}, MaxAhead: -1, Layout: idgen.Layout{TimestampBits: 1}},
			[]string{"Cipher is 7", "version 4", "has 1 bytes", "MaxAhead", "TimestampBits is 1", "none of version 0"},
		},
		"mode": {external.Options{Mode: 9}, []string{"Mode is 9"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := external.New(test.opts)
			if (err == nil) != (len(test.want) == 0) {
				t.Fatalf("error %v", err)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v\nlacks %q", err, part)
				}
			}
		})
	}
}

func TestParseKey(t *testing.T) {
	key, err := external.ParseKey([]byte(" 000102030405060708090A0B0C0D0E0F\n"))
	if want := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; !bytes.Equal(key, want) || err != nil {
		t.Errorf("%x, %v", key, err)
	}
	for _, text := range []string{"", "00", "000102030405060708090a0b0c0d0e0", "a secret of sixteen and more", "00 0102030405060708090a0b0c0d0e0f"} {
		if key, err := external.ParseKey([]byte(text)); err == nil {
			t.Errorf("%q is taken for the key %x", text, key)
		} else if len(text) > 2 && strings.Contains(err.Error(), text) {
			t.Errorf("the error quotes the key: %v", err)
		}
	}
}

func TestNames(t *testing.T) {
	got := []string{external.Scramble.String(), external.Plain.String(), external.Keyed.String(), external.Speck64.String(), external.XTEA.String(), external.Mode(9).String()}
	if want := "scramble plain keyed speck64 xtea Mode(9)"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestAllocations checks that the hot paths take no memory, but for the string.
func TestAllocations(t *testing.T) {
	var buf [external.Len]byte
	var text string
	for name, c := range codecs(t) {
		for what, test := range map[string]struct {
			most float64
			f    func()
		}{
			"AppendEncode": {0, func() { c.AppendEncode(buf[:0], 211469771380744768) }},
			"Encode":       {1, func() { text = c.Encode(211469771380744768) }},
			"DecodeBytes":  {0, func() { _, _ = c.DecodeBytes(c.AppendEncode(buf[:0], 211469771380744768)) }},
			"Decode":       {0, func() { _, _ = c.Decode(text) }},
		} {
			if what == "Decode" {
				text = c.Encode(211469771380744768)
			}
			if n := testing.AllocsPerRun(100, test.f); n > test.most {
				t.Errorf("%s: %s allocates %v times", name, what, n)
			}
		}
	}
}

// FuzzDecode checks that every text is refused or the one spelling of its ID.
func FuzzDecode(f *testing.F) {
	all := codecs(f)
	for _, seed := range []string{"", "ASNFZ4mrze8", "ASNFZ4mrze9", "ASNFZ4mrze8=", "AAAAAAAAAAA", "___________", "A+NFZ4mrze8", "ASNFZ4mrz\xff\xfe"} {
		f.Add(seed)
	}
	for _, c := range all {
		f.Add(c.Encode(211469771380744768))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, c := range all {
			id, err := c.Decode(text)
			fromBytes, bytesErr := c.DecodeBytes([]byte(text))
			if id != fromBytes || (err == nil) != (bytesErr == nil) {
				t.Fatalf("%s: %q: Decode %d %v, DecodeBytes %d %v", name, text, id, err, fromBytes, bytesErr)
			}
			if err != nil {
				if !errors.Is(err, idgen.ErrInvalid) || id != 0 {
					t.Fatalf("%s: %q: %d, %v", name, text, id, err)
				}
				continue
			}
			if id <= 0 || c.Encode(id) != text {
				t.Fatalf("%s: %q is %d, which is %q", name, text, id, c.Encode(id))
			}
		}
	})
}

// FuzzRoundTrip checks that every ID comes back.
func FuzzRoundTrip(f *testing.F) {
	all := codecs(f)
	f.Add(int64(1))
	f.Add(int64(211469771380744768))
	f.Add(int64(-1))
	f.Fuzz(func(t *testing.T, v int64) {
		for name, c := range all {
			id, err := c.Decode(c.Encode(idgen.ID(v)))
			if (err == nil) != (v > 0) || (err == nil && id != idgen.ID(v)) {
				t.Fatalf("%s: %d comes back as %d, %v", name, v, id, err)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	for name, c := range codecs(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf [external.Len]byte
			id := idgen.ID(211469771380744768)
			for b.Loop() {
				c.AppendEncode(buf[:0], id)
				id++
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, c := range codecs(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			text := c.AppendEncode(nil, 211469771380744768)
			for b.Loop() {
				if _, err := c.DecodeBytes(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
