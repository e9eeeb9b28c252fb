// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

// legalKeys lie close together: prefixes of each other, neighbours, both ends.
// None of them is told apart from a key with a versionstamp by the stamp's
// bytes, which are not the same everywhere.
var legalKeys = []string{
	"", "\x00", "\x00\x00", "a", "a\x00", "a\x00\x00", "a\x01", "aa", "ab", "b", "b\x00", "ba", "b\xff", "c", "c\xff", "c\xff\xff",
	"d", "k", "s", "s\x00", "s\x01", "s\xff", "t", "\xfe", "\xfe\xff", "\xfe\xff\xff",
}

// illegalKeys are beyond the keys that everybody may use.
var illegalKeys = []string{"\xff", "\xff\x00", "\xff\x01", "\xffa", "\xff\xfe", "\xff\xff", "\xff\xff\x00"}

// stampedValues are the keys whose values get versionstamps. Nothing computes
// with them, for the result would depend on the stamp.
var stampedValues = []string{"v", "v\x00", "w"}

func literal(s string) scenario.Text {
	if s == "" {
		return nil
	}
	return scenario.Text{{Literal: []byte(s)}}
}

// choosePool chooses the keys that a program works on.
func (d *program) choosePool() {
	d.pool = slices.Clone(legalKeys)
	d.rng.Shuffle(len(d.pool), func(i, j int) { d.pool[i], d.pool[j] = d.pool[j], d.pool[i] })
	n := d.theme.keys
	if n == 0 {
		n = 4 + d.rng.IntN(12)
	}
	d.pool = d.pool[:n]
}

// key is the key of a read or a write.
func (d *program) key() scenario.Text {
	switch {
	case d.illegal && d.one(8):
		return literal(of(d, illegalKeys...))
	case d.large && d.one(4):
		return d.longKey()
	case d.one(30):
		return literal(of(d, stampedValues...))
	case d.weights["stamped"] > 0 && d.one(10):
		return d.stampedKey()
	}
	return literal(d.pool[d.rng.IntN(len(d.pool))])
}

// longKey is about as long as a key may be; some are system keys, which may be
// longer.
func (d *program) longKey() scenario.Text {
	length := of(d, kv.MaxKeySize-1, kv.MaxKeySize, kv.MaxKeySize+1, kv.MaxKeySize+2, 100)
	if d.one(12) {
		return literal("\xff" + strings.Repeat("l", length-1))
	}
	return literal("l" + strings.Repeat(of(d, "l", "m", "\xff"), length-1))
}

// stampedKey is what SetVersionstampedKey may have written.
func (d *program) stampedKey() scenario.Text {
	t := scenario.Text{{Literal: []byte("s")}, {Stamp: &scenario.StampID{Slot: d.rng.IntN(d.slots), N: d.rng.IntN(2)}}}
	return append(t, literal(of(d, "", "", "x"))...)
}

// length is one that operands have.
func (d *program) length() int { return of(d, 0, 1, 1, 2, 3, 4, 5, 7, 8, 8, 8, 9, 12, 16, 17) }

func (d *program) randomBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(of(d, 0, 1, 0x7f, 0x80, 0xfe, 0xff, d.rng.IntN(256)))
	}
	return b
}

// value is the value of a set or the operand of an atomic operation.
func (d *program) value() scenario.Text {
	if d.large && d.one(6) {
		length := of(d, kv.MaxValueSize-8, kv.MaxValueSize-1, kv.MaxValueSize, kv.MaxValueSize+1)
		return scenario.Text{{Literal: bytes.Repeat([]byte{byte(of(d, 'x', 0, 0xff))}, length)}}
	}
	return d.shortValue()
}

func (d *program) shortValue() scenario.Text { return literal(string(d.randomBytes(d.length()))) }

// Span is a range of keys, most often the right way round.
func (d *program) span() (from, to scenario.Text) {
	from, to = d.key(), d.key()
	wrong := d.illegal && d.one(6) || d.one(30)
	a, errA := from.Bytes(nil)
	b, errB := to.Bytes(nil)
	if errA == nil && errB == nil && (bytes.Compare(a, b) > 0) != wrong {
		from, to = to, from
	}
	return from, to
}

// selector is any selector, about the keys of the program or at an end.
func (d *program) selector() scenario.SelectorText {
	s := scenario.SelectorText{Key: d.key(), OrEqual: d.one(2), Offset: d.rng.IntN(3)}
	switch {
	case d.one(3):
		s.Offset = d.rng.IntN(12) - 5
	case d.one(20):
		s.Offset = of(d, 100, -100, 5000, -5000) // those near 2^31 stall the storage server of a cluster
	}
	switch {
	case d.one(8):
		s.Key = nil
	case d.one(8):
		s.Key = literal("\xff")
	}
	return s
}

// surelyThere is how many system keys every cluster has. One more comes every
// ten seconds at first. A range whose end leads further behind all keys may be
// cut into other batches on a young cluster than on an old one, which shows in the
// size of the transaction.
const surelyThere = 20

// bounds are the ends of a range read: those of a range, or any selectors.
func (d *program) bounds() (begin, end scenario.SelectorText) {
	if d.one(2) {
		begin, end = d.selector(), d.selector()
		end.Offset = min(end.Offset, surelyThere)
		return begin, end
	}
	from, to := d.span()
	if d.one(3) {
		from, to = nil, literal("\xff")
	}
	return scenario.SelectorText{Key: from, Offset: 1}, scenario.SelectorText{Key: to, Offset: 1}
}

// template is text with a place for a versionstamp and the place's offset, and
// sometimes an offset that is none.
func (d *program) template(prefix string) scenario.Text {
	suffix := of(d, "", "", "x", "\x00", "y\xff")
	offset := len(prefix)
	if d.one(10) {
		offset = of(d, 0, offset+len(suffix)+1, 1<<20, -1, math.MinInt32)
	}
	all := append([]byte(prefix), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"+suffix...)
	all = binary.LittleEndian.AppendUint32(all, uint32(offset))
	if d.one(20) {
		all = all[:of(d, 0, 3, 4, 13)]
	}
	return literal(string(all))
}
