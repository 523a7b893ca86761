package loadbalancer

import (
	"slices"
	"testing"

	"digitalocean-cloud-controller-manager/internal/annotation"
)

func TestEveryFieldThatCanBeIgnoredIs(t *testing.T) {
	for _, test := range differences {
		if test.kind != ChangeSettings || test.field == FieldTag {
			continue
		}
		desired, actual := full(t), full(t)
		test.edit(&actual)
		if changes := Diff(Ignore(desired, actual, annotation.DriftFields), actual); len(changes) > 0 {
			t.Errorf("%s: %v", test.name, changes)
		}
	}
}

func TestOnlyWhatIsNamedIsIgnored(t *testing.T) {
	for _, name := range annotation.DriftFields {
		desired, actual := full(t), full(t)
		for _, test := range differences {
			if test.field == FieldName || test.field == FieldDroplets || test.field == fieldsOf[name] {
				test.edit(&actual)
			}
		}
		var got []string
		for _, c := range Diff(Ignore(desired, actual, []string{name}), actual) {
			got = append(got, c.Field)
		}
		want := []string{FieldName, FieldDroplets}
		if name == "name" {
			want = want[1:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: differences of %v, want %v", name, got, want)
		}
	}
}

func TestWhatIsLeftIsNoChangeAnyMore(t *testing.T) {
	desired, actual := full(t), full(t)
	actual.SizeUnit, actual.DropletIDs, actual.Name = 7, []int{1}, "other"
	left := Of(ChangeSettings, Diff(desired, actual))
	if got := Describe(Diff(Leave(desired, actual, left[:1]), actual)); got != "size unit 7 -> 1; droplets +1 (added 2), now 2" {
		t.Error(got)
	}
}
