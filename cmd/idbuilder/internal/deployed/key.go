// SPDX-License-Identifier: Apache-2.0

package deployed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// check reports whether the store has the key as the plan would make it, or
// further on.
func (k *Key) check(ctx context.Context, s store.Store) (there bool, err error) {
	d, err := s.Get(ctx, store.Configs, k.Config.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return false, err
	default:
		if there, err = k.isSameConfig(d); err != nil || !there {
			return false, errors.Join(err, errors.New("the store has this key, with another configuration"))
		}
	}
	for _, q := range k.Sequences {
		if err := q.check(ctx, s, there, k.step()); err != nil {
			return false, err
		}
	}
	return there, nil
}

// isSameConfig reports whether a stored configuration is the one of the plan.
func (k *Key) isSameConfig(d store.Document) (bool, error) {
	stored, err := idconfig.Decode(d)
	if err != nil {
		return false, err
	}
	a, err := stored.Encode()
	b, failed := k.Config.Encode()
	var x, y any
	err = errors.Join(err, failed, json.Unmarshal(a, &x), json.Unmarshal(b, &y))
	return d.Type == string(k.Config.Type) && reflect.DeepEqual(x, y), err
}

// step is the distance of two numbers of the key's sequences.
func (k *Key) step() int64 {
	if k.Config.Increment != nil {
		return k.Config.Increment.Delta
	}
	return 1
}

// check reports a sequence of the store that the plan must not touch. One that is
// in use must not be before the plan's; workers remove that of a period that is over.
func (q Sequence) check(ctx context.Context, s store.Store, inUse bool, step int64) error {
	have, err := s.Sequence(ctx, q.Name)
	over := false
	if inUse && errors.Is(err, store.ErrNotFound) {
		var fault error
		if over, fault = q.isOver(ctx, s); fault != nil {
			return fault
		}
	}
	switch {
	case errors.Is(err, store.ErrNotFound) && (!inUse || over):
		return nil
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("the store has the key, and lacks its sequence %s, which the plan has at %d: it has lost that", q.Name, q.Value)
	case err != nil:
		return err
	case have.Value == q.Value, inUse && (have.Value > q.Value) == (step > 0):
		return nil
	}
	return fmt.Errorf("the store has the sequence %s at %d, and the plan would set it to %d", q.Name, have.Value, q.Value)
}

// isOver reports whether the sequence is that of a period that is over: workers remove it then, and note that before
// in the document of the counter.
func (q Sequence) isOver(ctx context.Context, s store.Store) (bool, error) {
	counter, period, ok := idconfig.CutPeriod(q.Name)
	if !ok {
		return false, nil
	}
	d, err := s.Get(ctx, store.Periods, counter+":"+string(format.ResetOf(period)))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var periods struct {
		Floor string `json:"floor"`
	}
	if err := json.Unmarshal(d.Value, &periods); err != nil {
		return false, fmt.Errorf("periods of the counter %s: %w", counter, err)
	}
	return period <= periods.Floor, nil
}

// storeKey stores the sequences of a key, and then its configuration, by which it
// comes into use.
func (k *Key) storeKey(ctx context.Context, s store.Store) error {
	for _, q := range k.Sequences {
		err := s.SetSequence(ctx, q.Name, q.Value, 0)
		if errors.Is(err, store.ErrConflict) {
			err = q.check(ctx, s, false, k.step())
		}
		if err != nil {
			return err
		}
	}
	value, err := k.Config.Encode()
	if err != nil {
		return err
	}
	_, err = s.Put(ctx, store.Configs, store.Document{Key: k.Config.Key, Type: string(k.Config.Type), Value: value})
	return err
}

// Key is a key that is taken over.
type Key struct {
	Config    *idconfig.Config
	Sequences []Sequence
}

// Sequence is a sequence of a key.
type Sequence struct {
	Name  string
	Value int64 // that the store will have: the numbers after it are not given yet
}
