// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// addKind adds a kind.
func (h *Host) addKind(k *kind) error {
	if err := (placement.Key{Kind: k.name, ID: "id"}).Validate(); err != nil {
		return registrationError(k.name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started {
		return registrationError(k.name, fmt.Errorf("%w; register before Start", ErrStarted))
	}
	if _, taken := h.kinds[k.name]; taken {
		return registrationError(k.name, errors.New("the kind is registered already"))
	}
	h.kinds[k.name] = k
	return nil
}

// addMethod adds a method to a kind.
func (h *Host) addMethod(k *kind, m *method) error {
	full := k.name + "." + m.name
	if err := checkMethod(m.name); err != nil {
		return registrationError(full, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started {
		return registrationError(full, fmt.Errorf("%w; register before Start", ErrStarted))
	}
	if _, taken := k.methods[m.name]; taken {
		return registrationError(full, errors.New("the kind has a method of this name"))
	}
	k.methods[m.name] = m
	return nil
}
