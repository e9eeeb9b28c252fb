// SPDX-License-Identifier: Apache-2.0

package rafttimer

import "time"

// estimate follows measured broadcast times as TCP follows round trips (RFC
// 6298, section 2): a smoothed mean with gain 1/8, and a smoothed deviation with gain
// 1/4.
type estimate struct {
	mean      time.Duration // 0: nothing was observed
	deviation time.Duration
}

// addSample takes a measured time into account; zero and less are no measurement.
func (e *estimate) addSample(took time.Duration) {
	switch took = min(took, maxTimeout); {
	case took <= 0:
	case e.mean == 0:
		e.mean, e.deviation = took, took/2
	default:
		e.deviation += ((took - e.mean).Abs() - e.deviation) / 4
		e.mean += (took - e.mean) / 8
	}
}

// bound returns mean plus four deviations, which few times exceed.
func (e *estimate) bound() time.Duration { return e.mean + 4*min(e.deviation, maxTimeout/4) }
