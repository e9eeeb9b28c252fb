// SPDX-License-Identifier: Apache-2.0

package deployed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/kazahana-db/kazahana/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Check reports what the store has that is in the way of the plan. It returns the
// keys that the store has already, as an earlier run of the same plan left them.
func (p *Plan) Check(ctx context.Context, s store.Store) (done map[string]bool, err error) {
	done = map[string]bool{}
	var faults []error
	for _, k := range p.Keys {
		there, err := k.check(ctx, s)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", k.Config.Key, err))
		}
		done[k.Config.Key] = there
	}
	return done, errors.Join(faults...)
}

// check reports whether the store has the key as the plan would make it, or
// further on.
func (k *Key) check(ctx context.Context, s store.Store) (there bool, err error) {
	d, err := s.Get(ctx, store.Configs, k.Config.Key)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return false, err
	default:
		if there, err = k.equals(d); err != nil || !there {
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

// equals reports whether a stored configuration is the one of the plan.
func (k *Key) equals(d store.Document) (bool, error) {
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
// in use must not be before the plan's.
func (q Sequence) check(ctx context.Context, s store.Store, inUse bool, step int64) error {
	have, err := s.Sequence(ctx, q.Name)
	switch {
	case errors.Is(err, store.ErrNotFound) && !inUse:
		return nil
	case err != nil:
		return err
	case have.Value == q.Value, inUse && (have.Value > q.Value) == (step > 0):
		return nil
	}
	return fmt.Errorf("the store has the sequence %s at %d, and the plan would set it to %d", q.Name, have.Value, q.Value)
}

// Apply stores the plan. It returns the keys that the store had already. Nothing
// is written if anything is in the way; a run that was interrupted can be repeated.
func (p *Plan) Apply(ctx context.Context, s store.Store) (done map[string]bool, err error) {
	done, err = p.Check(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, k := range p.Keys {
		if done[k.Config.Key] {
			continue
		}
		if err := k.apply(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", k.Config.Key, err)
		}
	}
	_, err = s.Advance(ctx)
	return done, err
}

// apply stores the sequences of a key, and then its configuration, by which it
// comes into use.
func (k *Key) apply(ctx context.Context, s store.Store) error {
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
