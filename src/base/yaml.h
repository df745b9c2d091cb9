/*
 * yaml.h - read YAML files through libcyaml; errors name file, line, field and value.
 */
#ifndef HES_BASE_YAML_H
#define HES_BASE_YAML_H

#include <cyaml/cyaml.h>
#include <stddef.h>

#include "heshare/err.h"

/**
 * Load a document of type @schema (a pointer schema) from a file.
 * @param out  set on success; free with hes_yaml_free
 * @return 0; -EINVAL with "FILE:LINE: field: what is wrong"
 */
int hes_yaml_load_file(const char *path, const cyaml_schema_value_t *schema, void **out,
		       struct hes_err *err);
/** The same from memory; @name stands for the file in errors. */
int hes_yaml_load_text(const char *name, const char *text, size_t len,
		       const cyaml_schema_value_t *schema, void **out, struct hes_err *err);
void hes_yaml_free(const cyaml_schema_value_t *schema, void *data);

#endif
