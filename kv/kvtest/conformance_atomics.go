// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
)

// atomicCase is what an operation makes of a value.
type atomicCase struct {
	name     string
	op       kv.MutationType
	existing string // or absent
	operand  string
	want     string
}

// atomicCases are one case or more for each rule of each operation.
var atomicCases = []atomicCase{
	{"add", kv.Add, "\x01\x00", "\x02\x00", "\x03\x00"},
	{"add carries", kv.Add, "\xff\x00", "\x01\x00", "\x00\x01"},
	{"add wraps around", kv.Add, "\xff", "\x01", "\x00"},
	{"add to nothing", kv.Add, model.Absent, "\x05\x00", "\x05\x00"},
	{"add extends a shorter value", kv.Add, "\x01", "\x01\x01", "\x02\x01"},
	{"add cuts a longer value", kv.Add, "\x01\x02\x03", "\x01", "\x02"},
	{"add of nothing", kv.Add, "\x01", "", ""},
	{"and", kv.BitAnd, "\x0f", "\x3c", "\x0c"},
	{"and with nothing there", kv.BitAnd, model.Absent, "\x3c", "\x3c"},
	{"and extends with zeros", kv.BitAnd, "\xff", "\xff\xff", "\xff\x00"},
	{"or", kv.BitOr, "\x0f", "\x30", "\x3f"},
	{"or with nothing there", kv.BitOr, model.Absent, "\x30", "\x30"},
	{"xor", kv.BitXor, "\x0f", "\x3c", "\x33"},
	{"xor with nothing there", kv.BitXor, model.Absent, "\x3c", "\x3c"},
	{"append", kv.AppendIfFits, "ab", "cd", "abcd"},
	{"append to nothing", kv.AppendIfFits, model.Absent, "cd", "cd"},
	{"append that does not fit", kv.AppendIfFits, strings.Repeat("v", kv.MaxValueSize), "x", strings.Repeat("v", kv.MaxValueSize)},
	{"max takes the larger number", kv.Max, "\xff\x00", "\x00\x01", "\x00\x01"},
	{"max keeps the larger number", kv.Max, "\x00\x02", "\xff\x01", "\x00\x02"},
	{"max with nothing there", kv.Max, model.Absent, "\x01", "\x01"},
	{"min takes the smaller number", kv.Min, "\x00\x01", "\xff\x00", "\xff\x00"},
	{"min with nothing there", kv.Min, model.Absent, "\x01", "\x01"},
	{"min cuts a longer value", kv.Min, "\x01\xff", "\x02", "\x01"},
	{"byte max", kv.ByteMax, "ab", "b", "b"},
	{"byte max keeps", kv.ByteMax, "b", "ab", "b"},
	{"byte max with nothing there", kv.ByteMax, model.Absent, "a", "a"},
	{"byte min", kv.ByteMin, "b", "ab", "ab"},
	{"byte min keeps", kv.ByteMin, "ab", "b", "ab"},
	{"byte min with nothing there", kv.ByteMin, model.Absent, "a", "a"},
	{"compare and clear", kv.CompareAndClear, "a", "a", model.Absent},
	{"compare and clear of another value", kv.CompareAndClear, "a", "b", "a"},
	{"compare and clear of nothing", kv.CompareAndClear, model.Absent, "a", model.Absent},
}

var atomicLaws = []law{
	{"results at the commit", func(c *conformance) {
		for _, tt := range atomicCases {
			c.prepare(tt.existing)
			tx := c.begin()
			tx.Atomic(tt.op, []byte("k"), []byte(tt.operand))
			c.commit(tx)
			c.want(tt.name, abbreviate(c.get(c.begin(), "k")), abbreviate(tt.want))
		}
	}},
	{"results within the transaction", func(c *conformance) {
		for _, tt := range atomicCases {
			c.prepare(tt.existing)
			tx := c.begin()
			tx.Atomic(tt.op, []byte("k"), []byte(tt.operand))
			c.want(tt.name, abbreviate(c.get(tx, "k")), abbreviate(tt.want))
			c.want(tt.name+" in a range", len(c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{})), countOf(tt.want))
		}
	}},
	{"results over own sets and clears", func(c *conformance) {
		for _, tt := range atomicCases {
			c.prepare("other")
			tx := c.begin()
			if tt.existing == model.Absent {
				tx.Clear([]byte("k"))
			} else {
				tx.Set([]byte("k"), []byte(tt.existing))
			}
			tx.Atomic(tt.op, []byte("k"), []byte(tt.operand))
			c.want(tt.name, abbreviate(c.get(tx, "k")), abbreviate(tt.want))
			c.commit(tx)
			c.want(tt.name+" after the commit", abbreviate(c.get(c.begin(), "k")), abbreviate(tt.want))
		}
	}},
	{"operations on one key are applied in order", func(c *conformance) {
		tx := c.begin()
		tx.Atomic(kv.AppendIfFits, []byte("k"), []byte("a"))
		tx.Atomic(kv.AppendIfFits, []byte("k"), []byte("b"))
		tx.Atomic(kv.CompareAndClear, []byte("k"), []byte("ab"))
		tx.Atomic(kv.AppendIfFits, []byte("k"), []byte("c"))
		c.want("k", c.get(tx, "k"), "c")
		c.commit(tx)
		c.wantContents("k=c")
	}},
	{"two operations on one key are applied in order", func(c *conformance) {
		m := model.Model{}
		c.update(func(tx kv.Transaction) {
			for _, p := range operationPairs() {
				if p.existing != model.Absent {
					m[p.key] = p.existing
					tx.Set([]byte(p.key), []byte(p.existing))
				}
			}
		})
		tx := c.begin()
		for _, p := range operationPairs() {
			for i, op := range p.ops {
				m.Atomic(op, p.key, []byte(p.operands[i]))
				tx.Atomic(op, []byte(p.key), []byte(p.operands[i]))
			}
		}
		want := m.Scan(model.UserKeys().Selectors(), kv.RangeOptions{})
		c.want("in the transaction", c.scan(tx, model.UserKeys().Selectors(), kv.RangeOptions{}), want)
		c.commit(tx)
		c.wantContents(want...)
	}},
	{"an unknown operation is refused", func(c *conformance) {
		tx := c.begin()
		tx.Atomic(kv.MutationType(99), []byte("k"), []byte("x"))
		c.wantCommit(tx, kv.CodeInvalidMutationType)
	}},
}

// operationPair is two operations on one key.
type operationPair struct {
	key, existing string
	ops           [2]kv.MutationType
	operands      [2]string
}

// operationPairs are all pairs of operations, with operands of equal and of different
// lengths, each on no value and on one.
func operationPairs() (all []operationPair) {
	for _, first := range model.Operations() {
		for _, second := range model.Operations() {
			for _, operands := range [][2]string{{"\x55\x03", "\x63\x05"}, {"\x55\x03", "\x55\x03"}, {"\x36", "\x63\x05"}, {"\x36\x05", "\x63"}} {
				for _, existing := range []string{model.Absent, "\x55\x03"} {
					all = append(all, operationPair{fmt.Sprintf("%04d", len(all)), existing, [2]kv.MutationType{first, second}, operands})
				}
			}
		}
	}
	return all
}

// prepare makes k hold a value or nothing.
func (c *conformance) prepare(existing string) {
	c.Helper()
	c.update(func(tx kv.Transaction) {
		if existing == model.Absent {
			tx.Clear([]byte("k"))
		} else {
			tx.Set([]byte("k"), []byte(existing))
		}
	})
}

func countOf(value string) int {
	if value == model.Absent {
		return 0
	}
	return 1
}

func abbreviate(s string) string {
	if len(s) <= 40 {
		return s
	}
	return fmt.Sprintf("%s…(%d bytes)", s[:10], len(s))
}

// stamped returns prefix, a place for a versionstamp and its offset: the
// operand of a versionstamped write.
func stamped(prefix string) []byte {
	b := append([]byte(prefix), make([]byte, kv.VersionstampSize)...)
	return binary.LittleEndian.AppendUint32(b, uint32(len(prefix)))
}

// commitStamped commits and returns the transaction's versionstamp.
func (c *conformance) commitStamped(tx kv.Transaction) []byte {
	c.Helper()
	future := tx.GetVersionstamp()
	c.commit(tx)
	stamp, err := future.Get(c.ctx)
	c.wantCode("GetVersionstamp", err, 0)
	if len(stamp) != kv.VersionstampSize {
		c.Fatalf("a versionstamp of %d bytes", len(stamp))
	}
	return stamp
}

var versionstampLaws = []law{
	{"a versionstamped key carries the stamp", func(c *conformance) {
		tx := c.begin()
		tx.Atomic(kv.SetVersionstampedKey, stamped("log/"), []byte("entry"))
		stamp := c.commitStamped(tx)
		c.want("the value", c.get(c.begin(), "log/"+string(stamp)), "entry")
		c.want("keys", len(c.contents()), 1)
	}},
	{"a versionstamped value carries the stamp", func(c *conformance) {
		tx := c.begin()
		tx.Atomic(kv.SetVersionstampedValue, []byte("k"), stamped("at "))
		stamp := c.commitStamped(tx)
		c.want("the value", c.get(c.begin(), "k"), "at "+string(stamp))
	}},
	{"a stamp begins with the committed version", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("k"), nil)
		stamp := c.commitStamped(tx)
		version, err := tx.GetCommittedVersion()
		c.wantCode("GetCommittedVersion", err, 0)
		c.want("the stamp's version", int64(binary.BigEndian.Uint64(stamp)), version)
	}},
	{"stamps grow in commit order", func(c *conformance) {
		var stamps [][]byte
		for range 20 {
			tx := c.begin()
			tx.Atomic(kv.SetVersionstampedKey, stamped("log/"), nil)
			stamps = append(stamps, c.commitStamped(tx))
		}
		if !slices.IsSortedFunc(stamps, bytes.Compare) || len(slices.CompactFunc(stamps, bytes.Equal)) != 20 {
			c.Errorf("stamps of commits one after another: %x", stamps)
		}
	}},
	{"a read-only transaction has no stamp", func(c *conformance) {
		tx := c.begin()
		c.get(tx, "a")
		future := tx.GetVersionstamp()
		c.commit(tx)
		wantFuture(c, "GetVersionstamp", future, kv.CodeNoCommitVersion)
	}},
	{"a failed commit has no stamp", func(c *conformance) {
		tx := c.begin()
		c.get(tx, "a")
		tx.Atomic(kv.SetVersionstampedKey, stamped("log/"), nil)
		future := tx.GetVersionstamp()
		c.put("a", "2")
		c.wantCommit(tx, kv.CodeNotCommitted)
		wantFuture(c, "GetVersionstamp", future, kv.CodeTransactionInvalidVersion)
		c.wantContents("a=2")
	}},
	{"a stamp is not ready before the commit", func(c *conformance) {
		tx := c.begin()
		tx.Set([]byte("k"), nil)
		future := tx.GetVersionstamp()
		if future.Ready() {
			_, err := future.Get(c.ctx)
			c.Errorf("ready before the commit: %v", err)
		}
		c.commit(tx)
		wantFuture(c, "GetVersionstamp", future, 0)
	}},
	{"what awaits its stamp cannot be read", func(c *conformance) {
		tx := c.begin()
		tx.Atomic(kv.SetVersionstampedValue, []byte("k"), stamped(""))
		wantFuture(c, "Get", tx.Get([]byte("k")), kv.CodeAccessedUnreadable)
		c.wantCommit(tx, kv.CodeAccessedUnreadable)
		tx = c.begin()
		tx.Atomic(kv.SetVersionstampedKey, stamped("log/"), nil)
		_, err := tx.GetRange(model.Span("log/", "log0").Selectors(), kv.RangeOptions{}).Slice(c.ctx)
		c.wantCode("GetRange", err, kv.CodeAccessedUnreadable)
		c.wantContents()
	}},
	{"an operand without room for a stamp is refused", func(c *conformance) {
		for _, operand := range [][]byte{nil, make([]byte, 3), make([]byte, 13), append(make([]byte, 10), 1, 0, 0, 0)} {
			tx := c.begin()
			tx.Atomic(kv.SetVersionstampedValue, []byte("k"), operand)
			c.wantCommit(tx, kv.CodeClientInvalidOperation)
		}
		c.wantContents()
	}},
	{"the metadata version is a stamp that everyone can read", func(c *conformance) {
		key := []byte(kv.MetadataVersionKey)
		tx := c.begin()
		tx.Atomic(kv.SetVersionstampedValue, key, make([]byte, 14))
		stamp := c.commitStamped(tx)
		reader := c.begin()
		c.want("the version", c.get(reader, kv.MetadataVersionKey), string(stamp))
		later := c.begin()
		later.Atomic(kv.SetVersionstampedValue, key, make([]byte, 14))
		next := c.commitStamped(later)
		c.want("the version as the reader sees it", c.get(reader, kv.MetadataVersionKey), string(stamp))
		c.want("the version anew", c.get(c.begin(), kv.MetadataVersionKey), string(next))
	}},
	{"a change of the metadata version conflicts with its readers", func(c *conformance) {
		key := []byte(kv.MetadataVersionKey)
		tx := c.beginReading()
		c.get(tx, kv.MetadataVersionKey)
		tx.Set([]byte("a"), []byte("1"))
		c.update(func(tx kv.Transaction) { tx.Atomic(kv.SetVersionstampedValue, key, make([]byte, 14)) })
		c.wantCommit(tx, kv.CodeNotCommitted)
	}},
	{"other system keys are out of reach", func(c *conformance) {
		wantFuture(c, "Get", c.begin().Get([]byte("\xff/other")), kv.CodeKeyOutsideLegalRange)
		tx := c.begin()
		tx.Set([]byte("\xff/other"), nil)
		c.wantCommit(tx, kv.CodeKeyOutsideLegalRange)
	}},
}
