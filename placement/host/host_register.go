// SPDX-License-Identifier: Apache-2.0

package host

import "github.com/kazahana-db/kazahana/placement"

// addKind adds a kind.
func (h *Host) addKind(k *kind) error {
	if err := (placement.Key{Kind: k.name, ID: "id"}).Validate(); err != nil {
		return &RegistrationError{Name: k.name, Reason: err.Error(), Err: err}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started {
		return &RegistrationError{Name: k.name, Reason: "the host was started; register before Start", Err: ErrStarted}
	}
	if _, taken := h.kinds[k.name]; taken {
		return &RegistrationError{Name: k.name, Reason: "the kind is registered already"}
	}
	h.kinds[k.name] = k
	return nil
}

// addMethod adds a method to a kind.
func (h *Host) addMethod(k *kind, m *method) error {
	full := k.name + "." + m.name
	if err := checkMethod(m.name); err != nil {
		return &RegistrationError{Name: full, Reason: err.Error(), Err: err}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started {
		return &RegistrationError{Name: full, Reason: "the host was started; register before Start", Err: ErrStarted}
	}
	if _, taken := k.methods[m.name]; taken {
		return &RegistrationError{Name: full, Reason: "the kind has a method of this name"}
	}
	k.methods[m.name] = m
	return nil
}
