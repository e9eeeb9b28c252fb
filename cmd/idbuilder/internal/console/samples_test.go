// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

func loads(list ...worker.KeyLoad) iter.Seq[worker.KeyLoad] { return slices.Values(list) }

// TestSamples records counts that grow, begin anew, and end.
func TestSamples(t *testing.T) {
	s := newSamples(5 * time.Second)
	load := func(key string, requests uint64, ids int64, left uint64) worker.KeyLoad {
		return worker.KeyLoad{Key: key, Requests: requests, IDs: ids, Remaining: left}
	}
	s.takeSample(loads(load("a", 100, 1000, 7)))
	if got := s.samplesOf(""); len(got) != 0 {
		t.Errorf("the first counts make samples: %v", got)
	}
	s.takeSample(loads(load("a", 110, 1050, 5), load("b", 5, 5, 1)))
	s.takeSample(loads(load("a", 5, 10, 9)))
	s.takeSample(loads())
	want := map[string][]sample{
		"":  {{requests: 3, ids: 11, left: 6}, {requests: 1, ids: 2, left: 9}, {}},
		"a": {{requests: 2, ids: 10, left: 5}, {requests: 1, ids: 2, left: 9}, {}},
		"b": {{requests: 1, ids: 1, left: 1}, {}, {}},
		"c": nil,
	}
	for key, list := range want {
		if got := s.samplesOf(key); !slices.Equal(got, list) {
			t.Errorf("%q: %v, want %v", key, got, list)
		}
	}
	busy := s.busiestKeys(9)
	if len(busy) != 2 || busy[0].Key != "a" || busy[0].IDs != 4 || busy[1].Key != "b" || len(s.busiestKeys(1)) != 1 {
		t.Errorf("busiest are %v", busy)
	}
	for range maxSamples {
		s.takeSample(loads())
	}
	if len(s.byKey) != 0 || len(s.samplesOf("")) != maxSamples {
		t.Errorf("%d rings are left, and %d samples", len(s.byKey), len(s.samplesOf("")))
	}
}

func TestSamplesAreBounded(t *testing.T) {
	s := newSamples(time.Second)
	list := make([]worker.KeyLoad, maxCharted+50)
	for i := range list {
		list[i].Key = fmt.Sprint(i)
	}
	for range 3 {
		s.takeSample(loads(list...))
		for i := range list {
			list[i].IDs++
		}
	}
	if len(s.byKey) != maxCharted || s.samplesOf("")[1].ids != float64(len(list)) {
		t.Errorf("%d rings; the total is %v", len(s.byKey), s.samplesOf(""))
	}
}

func TestRingKeepsTheLast(t *testing.T) {
	var r ring
	for i := range maxSamples + 3 {
		r.addSample(sample{ids: float64(i)})
	}
	list := r.list()
	if len(list) != maxSamples || list[0].ids != 3 || list[maxSamples-1].ids != maxSamples+2 {
		t.Errorf("the ring has %v", list)
	}
}

func TestDraw(t *testing.T) {
	ids := func(s sample) float64 { return s.ids }
	c := draw("IDs", "a second", "15 minutes", []sample{{ids: 10}, {ids: 30}, {ids: 20}}, ids)
	if want := "M593.3 80L596.6 0L600 40"; c.Line != want || c.Area != want+"V120H593.3Z" {
		t.Errorf("the line is %s, the area %s", c.Line, c.Area)
	}
	if want := "IDs over the last 15 minutes: now 20 a second, at most 30"; c.Label != want || c.Now != "20" || c.Top != "30" {
		t.Errorf("%+v", c)
	}
	full := draw("IDs", "", "", make([]sample, maxSamples), ids)
	if !strings.HasPrefix(full.Line, "M0 120L3.4 120L") || !strings.HasSuffix(full.Line, "L600 120") || full.Top != "1" {
		t.Errorf("%+v", full)
	}
	if none := draw("IDs", "", "", nil, ids); none.Line != "" || !strings.Contains(none.Label, "no samples") {
		t.Errorf("%+v", none)
	}
}

func TestNumbersForPeople(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.44: "0.4", 9.96: "10", 1234: "1,234", 9999: "9,999", 12345: "12.3k", 4_600_000: "4.6M", 5e12: "5e+12"} {
		if got := quantity(v); got != want {
			t.Errorf("quantity(%v) is %s, want %s", v, got, want)
		}
	}
	for v, want := range map[int64]string{0: "0", -1234567: "−1,234,567", 999: "999", 1000: "1,000", minInt64: "−9,223,372,036,854,775,808"} {
		if got := grouped(v); got != want {
			t.Errorf("grouped(%v) is %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]float64{0: 1, 1: 1, 1.2: 1.5, 9: 10, 70: 80, 1001: 1500} {
		if got := roundUp(v); got != want {
			t.Errorf("roundUp(%v) is %v, want %v", v, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 seconds", time.Second: "1 second", 895 * time.Second: "15 minutes", 90 * time.Minute: "2 hours", 48 * time.Hour: "2 days"} {
		if got := duration(d); got != want {
			t.Errorf("duration(%v) is %s, want %s", d, got, want)
		}
	}
}
