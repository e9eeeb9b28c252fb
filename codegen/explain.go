// SPDX-License-Identifier: Apache-2.0

package codegen

func (r *run) explain() error { return nil }
