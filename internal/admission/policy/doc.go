// Package policy makes a ValidatingAdmissionPolicy of the rules that a Service's
// annotations tell by themselves, from the registry of annotations: for clusters
// that want mistakes refused and no server that runs for it. It agrees with
// annotation.Parse, and where CEL can't tell, it lets pass.
package policy
