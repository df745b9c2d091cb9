/*
 * yaml_remedy.h - what libcyaml says is wrong, in a sentence that says what would be right; private
 * to yaml.c.
 */
#ifndef HES_BASE_YAML_REMEDY_H
#define HES_BASE_YAML_REMEDY_H

#include <cyaml/cyaml.h>

/**
 * @param headline  libcyaml's
 * @param path      of the field, "gpus[1].type"; "" at the top
 * @param out       at most @size bytes
 */
void yaml_remedy(const char *headline, const char *path, const cyaml_schema_value_t *schema,
		 char *out, size_t size);
/** Append @intro and the keys of a mapping: "; there are: name, count". */
void yaml_add_keys(const cyaml_schema_value_t *v, const char *intro, char *out, size_t size);

#endif
