// SPDX-License-Identifier: Apache-2.0

package sim

import "errors"

// Run runs a seed: 30 seconds of calls and faults, then none, then a clean stop. Its
// error is a [*Violation].
func Run(seed uint64, o Options) (Result, error) {
	w, err := newWorld(seed, o)
	if err != nil {
		return Result{}, err
	}
	for i, s := range newPlan(seed, len(w.machines), len(w.keys), w.setting.calls) {
		if !o.cut[i] {
			w.After(s.at, func() { w.performStep(s) })
		}
	}
	w.runUntil(trouble, nil)
	w.endFaults()
	w.serveAll()
	w.checkAgreement()
	w.stopAll()
	return w.result(), w.err()
}

// AsViolation returns the violation that an error of [Run] is, nil if it is none.
func AsViolation(err error) *Violation {
	var v *Violation
	errors.As(err, &v)
	return v
}
