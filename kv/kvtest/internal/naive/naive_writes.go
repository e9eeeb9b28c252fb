// SPDX-License-Identifier: Apache-2.0

package naive

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

// Kinds of writes beside the atomic operations.
const (
	naiveSet   kv.MutationType = -1
	naiveClear kv.MutationType = -2
)

// naiveWrite is one write: of one key, or the clearing of a range.
type naiveWrite struct {
	op      kv.MutationType
	keys    kv.KeyRange
	operand []byte
}

// fault is what is wrong with a write.
func (w naiveWrite) fault() error {
	switch key := w.keys.Begin; {
	case w.op == naiveClear && bytes.Compare(key, w.keys.End) > 0:
		return kv.NewError(kv.CodeInvertedRange, "")
	case string(key) != kv.MetadataVersionKey && bytes.Compare(w.keys.End, []byte("\xff\x00")) >= 0:
		return kv.NewError(kv.CodeKeyOutsideLegalRange, "")
	case w.op != naiveClear && len(key) > kv.MaxKeySize:
		return kv.NewError(kv.CodeKeyTooLarge, "")
	case len(w.operand) > kv.MaxValueSize:
		return kv.NewError(kv.CodeValueTooLarge, "")
	case w.op >= 0 && !w.stamps() && !slices.Contains(model.Operations(), w.op):
		return kv.NewError(kv.CodeInvalidMutationType, "")
	}
	if text := w.template(); text != nil && (len(text) < 14 || stampOffset(text)+14 > len(text)) {
		return kv.NewError(kv.CodeClientInvalidOperation, "no room for a versionstamp")
	}
	return nil
}

// stamps reports whether the write receives a versionstamp.
func (w naiveWrite) stamps() bool {
	return w.op == kv.SetVersionstampedKey || w.op == kv.SetVersionstampedValue
}

// template is the key or value that receives a versionstamp.
func (w naiveWrite) template() []byte {
	switch w.op {
	case kv.SetVersionstampedKey:
		return w.keys.Begin
	case kv.SetVersionstampedValue:
		return append([]byte{}, w.operand...)
	}
	return nil
}

func stampOffset(text []byte) int { return int(binary.LittleEndian.Uint32(text[len(text)-4:])) }

// stamped fills in the versionstamp.
func (w naiveWrite) stamped(stamp []byte) naiveWrite {
	text := bytes.Clone(w.template())
	if text == nil {
		return w
	}
	copy(text[stampOffset(text):], stamp)
	text = text[:len(text)-4]
	if w.op == kv.SetVersionstampedKey {
		w.keys = single(text)
	} else {
		w.operand = text
	}
	return w
}

// unreadable is what cannot be read until the commit.
func (w naiveWrite) unreadable() kv.KeyRange {
	switch w.op {
	case kv.SetVersionstampedValue:
		return w.keys
	case kv.SetVersionstampedKey:
		return kv.PrefixRange(w.keys.Begin[:stampOffset(w.keys.Begin)])
	}
	return kv.KeyRange{}
}

// apply changes a model.
func (w naiveWrite) apply(m model.Model) {
	key := string(w.keys.Begin)
	if w.op == naiveClear {
		m.ClearRange(w.keys)
		return
	}
	switch w.op {
	case naiveSet, kv.SetVersionstampedKey, kv.SetVersionstampedValue:
		m[key] = string(w.operand)
	default:
		m.Atomic(w.op, key, w.operand)
	}
}
