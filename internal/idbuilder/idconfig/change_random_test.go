// SPDX-License-Identifier: Apache-2.0

package idconfig_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/seed"
)

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

// anyPart returns a part that is easily confused with others.
func anyPart(random *rand.Rand) format.Part {
	zone := pick(random, "", "", "UTC", "Asia/Tokyo")
	switch random.IntN(8) {
	case 0, 1:
		return format.Part{Type: format.FixedChars, Value: pick(random, "1", "11", "-", "1-", "0", "2026", "2026-")}
	case 2:
		return format.Part{Type: format.FixedPollingChar, CharsScope: pick(random, "01", "10", "-1")}
	case 3:
		return format.Part{Type: format.DateFormat, Format: pick(random, "yyyy", "yyyyMM", "yyyyMMdd", "yyMMdd", "d", "yyyy-M"), TimeZone: zone}
	case 4:
		return format.Part{Type: format.FixedRandomChars, CharsScope: pick(random, "0", "01"), Length: random.IntN(2)}
	case 5:
		return format.Part{Type: format.UnixSeconds, BaseUnix: now.Unix() - pick[int64](random, 12, 5)}
	}
	return format.Part{
		Type: format.AutoIncrement, Length: random.IntN(4), LengthFixed: random.IntN(2) == 0, PaddingMode: pick(random, "", "prefix", "suffix"), PaddingChar: pick(random, "", "", "0", "-"),
		NumberBase: pick(random, 0, 2, 10), ResetScope: pick(random, "", "", format.ResetNever, format.ResetMonth, format.ResetDate), TimeZone: zone,
	}
}

// altered returns parts with one change.
func altered(random *rand.Rand, parts []format.Part) []format.Part {
	if len(parts) == 0 {
		return []format.Part{anyPart(random)}
	}
	parts = slices.Clone(parts)
	at := random.IntN(len(parts))
	switch p := &parts[at]; random.IntN(6) {
	case 0:
		return slices.Insert(parts, at, anyPart(random))
	case 1:
		return slices.Delete(parts, at, at+1)
	case 2:
		*p = anyPart(random)
	case 3:
		p.Length, p.LengthFixed = random.IntN(4), random.IntN(2) == 0
	case 4:
		return slices.Insert(parts, pick(random, 0, len(parts)), format.Part{Type: format.FixedChars, Value: pick(random, "A", "B", "A1", "-")})
	case 5:
		q := anyPart(random)
		p.NumberBase, p.PaddingMode, p.PaddingChar, p.ResetScope, p.TimeZone = q.NumberBase, q.PaddingMode, q.PaddingChar, q.ResetScope, q.TimeZone
	}
	return parts
}

func compiled(parts []format.Part) *idconfig.Config {
	f, err := format.Compile(parts)
	if err != nil || !f.Guarantee().Certain {
		return nil
	}
	return &idconfig.Config{Key: "k", Type: idconfig.TypeFormatted, Formatted: &idconfig.FormattedConfig{Parts: parts, Format: f}}
}

// TestChangesKeepIDsUnique makes IDs of random formats, changes them at random, where
// CheckChange allows it, and makes IDs of the new ones, from the same
// sequences. No ID comes twice, over any number of changes.
func TestChangesKeepIDsUnique(t *testing.T) {
	random := seed.Rand(t)
	changes, chains := 0, 10_000
	if testing.Short() {
		chains = 2000
	}
	for range chains {
		parts := make([]format.Part, 1+random.IntN(4))
		for i := range parts {
			parts[i] = anyPart(random)
		}
		if c := compiled(parts); c != nil {
			k := &usedKey{Config: c, numbers: map[string]int64{}, seen: map[string][]format.Part{}}
			k.makeIDs(t, random)
			changes += k.changeFormat(t, random)
		}
	}
	t.Logf("%d changes", changes)
	if changes < chains/10 {
		t.Errorf("only %d changes were allowed", changes)
	}
}

// usedKey is a key with the IDs that it has given.
type usedKey struct {
	*idconfig.Config
	numbers map[string]int64         // by the name of the sequence
	seen    map[string][]format.Part // the format that gave an ID
}

// changeFormat tries to alter the format several times, and returns how many changes were
// allowed.
func (k *usedKey) changeFormat(t *testing.T, random *rand.Rand) (changes int) {
	first := k.Formatted.Parts
	for range 12 {
		from := pick(random, k.Formatted.Parts, first) // the first format: a change, and then a change back
		next := compiled(altered(random, altered(random, from)))
		if next == nil || idconfig.CheckChange(k.Config, next) != nil {
			continue
		}
		next.Succeed(k.Config)
		k.Config = next
		k.makeIDs(t, random)
		changes++
	}
	return changes
}

// makeIDs makes IDs at times in several periods, and sometimes leaves numbers out.
func (k *usedKey) makeIDs(t *testing.T, random *rand.Rand) {
	t.Helper()
	source := rand.NewChaCha8([32]byte{})
	counters := k.Formatted.Format.Counters()
	for range 30 {
		at := now.Add(time.Duration(random.Int64N(int64(pick(random, 20*time.Second, 24*time.Hour, 40*24*time.Hour)))))
		numbers := make([]int64, len(counters))
		for i, c := range counters {
			name := idconfig.SequenceName(k.Key, i, c.Period(at))
			k.numbers[name] += 1 + int64(random.IntN(2)*random.IntN(9))
			numbers[i] = k.numbers[name]
		}
		id, err := k.Formatted.Format.Append(nil, at, numbers, source)
		if err != nil {
			continue // exhausted, or before a base
		}
		if by, twice := k.seen[string(id)]; twice {
			t.Fatalf("%q comes twice:\nof %+v\nof %+v", id, by, k.Formatted.Parts)
		}
		k.seen[string(id)] = k.Formatted.Parts
	}
}

// anyFormat returns a format that Compile accepts.
func anyFormat(rt *rapid.T, label string) *idconfig.FormattedConfig {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, label), 0))
	for {
		parts := []format.Part{anyPart(random), anyPart(random), anyPart(random)}
		if f, err := format.Compile(parts); err == nil {
			return &idconfig.FormattedConfig{Parts: parts, Format: f}
		}
	}
}
