// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// TestVacanciesEvictTheOldest remembers far more ranges than may be: those found
// last stay, and there is never less than half of what there may be.
func TestVacanciesEvictTheOldest(t *testing.T) {
	w := NewDurableWindow(NewJournal(1, 1<<20), Leaps{})
	keys := func(i int) kv.KeyRange {
		return kv.KeyRange{Begin: fmt.Appendf(nil, "%08d/a", i), End: fmt.Appendf(nil, "%08d/b", i)}
	}
	hot := kv.KeyRange{Begin: []byte("queue"), End: []byte("queue/")}
	for i := range 5 * MostVacancies {
		w.addVacancy(vacancy{keys: keys((i * 7919) % (5 * MostVacancies)), version: w.forgotten})
		hot.End = fmt.Appendf(nil, "queue/%08d", i) // is found again and again, and grows
		w.addVacancy(vacancy{keys: hot, version: w.forgotten})
		if w.vacant.Len() > MostVacancies || i > MostVacancies && w.vacant.Len() < MostVacancies/2 {
			t.Fatalf("%d vacancies are remembered", w.vacant.Len())
		}
		if _, in := w.vacant.Find(hot.Begin, false); !in {
			t.Fatalf("after %d others the vacancy that was found last is forgotten", i)
		}
		for back := 0; back < min(i, MostVacancies/2); back += 64 {
			if _, in := w.vacant.Find(keys(((i-back)*7919)%(5*MostVacancies)).Begin, false); !in {
				t.Fatalf("after %d others a vacancy is forgotten that was found %d before", i, back)
			}
		}
	}
}
