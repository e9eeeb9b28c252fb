// SPDX-License-Identifier: Apache-2.0

package spread

// B runs behind A.
func (Wide) B() {}
