// SPDX-License-Identifier: Apache-2.0

package format

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
)

// TestAcceptedFormatsAreUnique makes random formats of parts that are easily confused. If Compile
// accepts a format, no two of its IDs with different numbers are equal, whatever their times and
// their random characters.
func TestAcceptedFormatsAreUnique(t *testing.T) {
	random := seed.Rand(t)
	accepted := 0
	for range 60_000 {
		parts := randomParts(random)
		f, err := Compile(parts)
		if err != nil || !f.Guarantee().Certain {
			continue
		}
		accepted++
		checkUniqueIDs(t, random, f, parts)
	}
	if accepted < 2000 {
		t.Errorf("only %d formats are accepted", accepted)
	}
}

func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

func randomParts(random *rand.Rand) []Part {
	parts := make([]Part, 1+random.IntN(5))
	for i := range parts {
		parts[i] = randomPart(random)
	}
	return parts
}

func randomPart(random *rand.Rand) Part {
	zone := pick(random, "", "", "UTC", "Asia/Tokyo")
	switch pick(random, allowedTypes...) {
	case FixedChars:
		return Part{Type: FixedChars, Value: pick(random, "1", "11", "-", "a", "1-", "0")}
	case FixedPollingChar:
		return Part{Type: FixedPollingChar, CharsScope: pick(random, "01", "1é", "-a")}
	case FixedRandomChars:
		return Part{Type: FixedRandomChars, CharsScope: pick(random, "01", "1é", "-1"), Length: random.IntN(3)}
	case DateFormat:
		return Part{Type: DateFormat, Format: pick(random, "yyyy", "yyyyMM", "yyyyMMdd", "yyMMdd", "MMdd", "yyyyMd", "YYYYwwe", "yyyyDDD", "HH", "d", "YYYYMMdd"), TimeZone: zone}
	case Timestamp:
		return Part{Type: Timestamp, BaseTS: noon.UnixMilli() - 500}
	case UnixSeconds:
		return Part{Type: UnixSeconds, BaseUnix: noon.Unix() - 12}
	}
	return Part{
		Type: AutoIncrement, Length: random.IntN(3), LengthFixed: random.IntN(2) == 0, PaddingMode: pick(random, "", "prefix", "suffix"), PaddingChar: pick(random, "", "0", "1", "-", "x"),
		NumberBase: pick(random, 0, 2, 10, 36), ResetScope: pick(random, ResetNever, ResetYear, ResetMonth, ResetDate), TimeZone: zone,
	}
}

var allowedTypes = []Type{FixedChars, FixedPollingChar, FixedRandomChars, DateFormat, Timestamp, UnixSeconds, AutoIncrement, AutoIncrement}

// checkUniqueIDs makes IDs at times in several periods. It counts each period of each counter,
// and sometimes leaves numbers out.
func checkUniqueIDs(t *testing.T, random *rand.Rand, f *Format, parts []Part) {
	t.Helper()
	counters := f.Counters()
	given := make([]map[string]int64, len(counters))
	for i := range given {
		given[i] = map[string]int64{}
	}
	seen := map[string]bool{}
	source := rand.NewChaCha8([32]byte{})
	for range 150 {
		now := noon.Add(time.Duration(random.Int64N(int64(pick(random, time.Second, 24*time.Hour, 800*24*time.Hour)))))
		numbers := make([]int64, len(counters))
		for i, c := range counters {
			period := c.Period(now)
			given[i][period] += 1 + int64(random.IntN(2)*random.IntN(20))
			numbers[i] = given[i][period]
		}
		id, err := f.Append(nil, now, numbers, source)
		if err != nil {
			continue // exhausted, or before a base
		}
		if seen[string(id)] {
			t.Fatalf("%+v makes %q twice", parts, id)
		}
		seen[string(id)] = true
	}
}
