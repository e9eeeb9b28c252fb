// SPDX-License-Identifier: Apache-2.0

package measure

import "time"

// Result has the measurements of a contest.
type Result struct {
	Contest
	Section   string          // of the report
	Rates     [][]float64     // of each entrant, operations a second, by round
	Allocs    [][]float64     // of each entrant, allocations an operation, by round
	Processor [][]float64     // of each entrant, seconds of processor time an operation, by round
	Quantiles []Histogram     // of each entrant, times of operations, of all rounds; nil if the contest has no Times
	Fsync     []time.Duration // the cost of a sync between the rounds
	Said      string          // what the contest's Note said
}

func newResult(c Contest) Result {
	n := len(c.Entrants)
	r := Result{Contest: c, Rates: make([][]float64, n), Allocs: make([][]float64, n), Processor: make([][]float64, n)}
	if c.Times {
		r.Quantiles = make([]Histogram, n)
	}
	return r
}

// add adds a round of an entrant.
func (r *Result) add(entrant int, t turn) {
	r.Rates[entrant] = append(r.Rates[entrant], t.rate)
	r.Allocs[entrant] = append(r.Allocs[entrant], t.allocs)
	r.Processor[entrant] = append(r.Processor[entrant], t.processor)
	if t.times != nil {
		r.Quantiles[entrant].Merge(t.times)
	}
}

// Ratio returns how many times the rate of another entrant one has made, by their medians, and
// the lowest and highest ratio of any one round.
func (r *Result) Ratio(one, other int) (ratio, low, high float64) {
	ours, theirs := r.Rates[one], r.Rates[other]
	for n := range ours {
		ofRound := ours[n] / theirs[n]
		if n == 0 {
			low, high = ofRound, ofRound
		}
		low, high = min(low, ofRound), max(high, ofRound)
	}
	return Median(ours) / Median(theirs), low, high
}

// Rows returns the comparisons of the first entrant.
func (r *Result) Rows() (rows []Row) {
	for i := range r.Entrants[1:] {
		rows = append(rows, r.row(0, i+1))
	}
	for _, f := range r.Fixed {
		rows = append(rows, r.fixedRow(f))
	}
	return rows
}

// row compares an entrant with another.
func (r *Result) row(one, other int) Row {
	e := r.Entrants[other]
	row := r.newRow(one, e.Name, Median(r.Rates[other]), e.Least)
	row.Ratio, row.Low, row.High = r.Ratio(one, other)
	return row
}

// fixedRow compares the first entrant with a fixed rate.
func (r *Result) fixedRow(f FixedRate) Row {
	row := r.newRow(0, f.Name, f.Rate, f.Least)
	row.Ratio = Median(r.Rates[0]) / f.Rate
	row.Low, row.High = row.Ratio, row.Ratio
	return row
}

func (r *Result) newRow(one int, peer string, theirs, least float64) Row {
	return Row{
		Contest: r.Name, About: r.About, Name: r.Entrants[one].Name, Peer: peer,
		Ours: r.formatRate(Median(r.Rates[one])), Theirs: r.formatRate(theirs), Least: least, Latency: r.Latency,
	}
}

// formatRate formats a rate in the contest's unit.
func (r *Result) formatRate(rate float64) string {
	if r.Latency {
		return Duration(1 / rate)
	}
	return Count(rate) + "/s"
}

// cost returns the processor time of an operation of an entrant, 0 if that is not reported.
func (r *Result) cost(i int) float64 {
	if r.Latency || len(r.Processor) == 0 {
		return 0
	}
	return Median(r.Processor[i])
}

func (r *Result) formatQuantiles(i int) string {
	h := &r.Quantiles[i]
	return Duration(h.Quantile(0.5).Seconds()) + " / " + Duration(h.Quantile(0.99).Seconds())
}
