// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"sync"

	"github.com/kazahana-db/kazahana/placement"
)

// activations has the activations whose actors run here, at most one of each key.
type activations struct {
	mu    sync.RWMutex
	byKey map[placement.Key]*Activation
}

// get returns the activation of an epoch, nil if it does not run here.
func (s *activations) get(key placement.Key, epoch int64) *Activation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if a := s.byKey[key]; a != nil && a.epoch == epoch {
		return a
	}
	return nil
}

// add adds an activation unless there is one of its key, and returns the present one.
func (s *activations) add(a *Activation) (present *Activation, added bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.byKey[a.key]; b != nil {
		return b, false
	}
	s.byKey[a.key] = a
	return a, true
}

// remove removes an activation.
func (s *activations) remove(a *Activation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[a.key] == a {
		delete(s.byKey, a.key)
	}
}
