// SPDX-License-Identifier: Apache-2.0

package host

import "sync"

// activations are those of one kind in one session.
type activations struct {
	kind    *kind
	session *session

	mu   sync.RWMutex
	byID map[string]*Activation
}

// find returns the activation of an epoch, nil if there is none. Epoch 0 means any.
func (as *activations) find(id string, epoch int64) *Activation {
	as.mu.RLock()
	defer as.mu.RUnlock()
	if a := as.byID[id]; a != nil && (epoch == 0 || a.epoch == epoch) {
		return a
	}
	return nil
}

func (as *activations) len() int {
	as.mu.RLock()
	defer as.mu.RUnlock()
	return len(as.byID)
}

// add makes an activation that is starting, or returns the one of the epoch that exists. older is
// one of another epoch, whose place it took.
func (as *activations) add(id string, epoch int64) (a, older *Activation, made bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	older = as.byID[id]
	if older != nil && older.epoch >= epoch {
		return older, nil, false
	}
	a = &Activation{kind: as, id: id, epoch: epoch, running: true}
	as.byID[id] = a
	return a, older, true
}

// remove forgets an activation, unless another one has its place.
func (as *activations) remove(a *Activation) {
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.byID[a.id] == a {
		delete(as.byID, a.id)
	}
}
