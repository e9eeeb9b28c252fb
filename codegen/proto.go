// SPDX-License-Identifier: Apache-2.0

package codegen

func emitProto(p *pkg, l *lock) []byte { return nil }

func protoMessageName(m *message) string { return m.name }
